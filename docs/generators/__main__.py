"""Write the generated documentation, or compare it: ``python -m docs.generators [--check]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import PurePosixPath

from docs.generators import (
    batches,
    breadth_first,
    choosing,
    command_line,
    compound_frontiers,
    cpu_engine,
    doors_cuda,
    formats,
    front_doors,
    generate_graphs,
    gpu_engine,
    index,
    many_cores,
    many_sources,
    measures,
    methods,
    near_far,
    partitioned,
    prepared_graphs,
    prepared_graphs_gpu,
    python_reference,
    readme,
    reproduction,
    scale,
    within_a_limit,
)
from nearfar.errors import NearfarError
from nearfar.lab import checkout

#: Pages that are generated as a whole, but for those of the experiments and the index.
WHOLE: dict[str, Callable[[], str]] = {
    "docs/reference/command-line.md": command_line.page,
    "docs/images/cpu-speed.svg": readme.chart,
    "docs/images/gpu-speed.svg": readme.gpu_chart,
    "docs/images/many-cores.svg": many_cores.chart,
    "docs/images/scale-gpus.svg": scale.chart,
    "docs/reference/file-formats.md": formats.page,
    "docs/reference/methods.md": methods.page,
    "docs/reference/python.md": lambda: python_reference.python_page(checkout.NOTICE),
}
#: Blocks of pages that are otherwise written by hand.
BLOCKS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"speed": readme.peers, "gpu-speed": readme.gpu_beside_peers},
    "docs/reference/speed.md": {"gpu-speed": readme.gpu_beside_its_host},
    "docs/explanation/gpu-engine.md": {
        "flagship": gpu_engine.flagship,
        "flagship-steps": gpu_engine.flagship_steps,
        "flagship-forms": gpu_engine.flagship_forms,
        "flagship-costs": gpu_engine.flagship_costs,
    },
    "docs/explanation/breadth-first.md": {
        "breadth-first": breadth_first.breadth_first,
        "two-billion-edges": breadth_first.two_billion_edges,
    },
    "docs/explanation/within-a-limit.md": {"within-limit": within_a_limit.within_limit},
    "docs/explanation/many-sources.md": {
        "all-pairs-gpu": many_sources.all_pairs_gpu,
        "all-pairs-doors": doors_cuda.all_pairs,
        "roads-gpu": many_sources.roads_gpu,
        "floyd-warshall-gpu": many_sources.floyd_gpu,
        "all-pairs-cpu": many_sources.all_pairs_cpu,
    },
    "docs/explanation/cpu-engine.md": {
        "delta-widths": cpu_engine.delta_widths,
        "ablation": cpu_engine.ablation,
        "cpu-variants": cpu_engine.cpu_variants,
        "cpu-beside-peers": cpu_engine.cpu_beside_peers,
        "busy-cores": cpu_engine.busy_cores,
        "many-cores": many_cores.many_cores,
        "batches": batches.batches,
        "overheads": cpu_engine.overheads,
    },
    "docs/explanation/measures.md": {
        "measures": measures.beside_libraries,
        "measures-gpu": measures.on_gpu,
    },
    "docs/explanation/prepared-graphs-gpu.md": {
        "prepared-gpu-rows": prepared_graphs_gpu.rows,
        "prepared-gpu-queries": prepared_graphs_gpu.queries,
    },
    "docs/explanation/prepared-graphs.md": {
        "prepared-orders": prepared_graphs.orders,
        "prepared-floats": prepared_graphs.float_sums,
        "prepared": prepared_graphs.prepared_graphs,
        "prepared-refused": prepared_graphs.refused,
    },
    "docs/reference/formats.md": {"parse-speed": formats.parse_speed},
    "docs/explanation/choosing.md": {
        "choice-on-cpu": choosing.choice_on_cpu,
        "choice-on-gpu": choosing.choice_on_gpu,
        "choice-of-batches": choosing.choice_of_batches,
    },
    "docs/how-to/coming-from-scipy.md": {
        "scipy-interface": front_doors.scipy,
        "isomap": front_doors.isomap,
    },
    "docs/how-to/coming-from-networkx.md": {"networkx-interface": front_doors.networkx},
    "docs/how-to/generate-graphs.md": {"generate-speed": generate_graphs.generate_speed},
    "docs/how-to/use-a-gpu.md": {
        "cupy-interface": front_doors.cupy,
        "first-calls": doors_cuda.first_calls,
    },
    "docs/explanation/one-source-several-gpus.md": {"partitioned": partitioned.partitioned},
    "docs/explanation/scale.md": {
        "scale-gpus": scale.gpus,
        "scale-one-source": scale.one_source,
        "scale-four-gpus": scale.four_gpus,
        "scale-cluster": scale.cluster,
        "scale-memory": scale.memory,
    },
    "docs/explanation/near-far.md": {
        "near-far": near_far.near_far,
        "near-far-roads": near_far.near_far_roads,
    },
    "docs/explanation/compound-frontiers.md": {
        "criteria-cpu": compound_frontiers.criteria_cpu,
        "criteria-gpu": compound_frontiers.criteria_gpu,
        "over-heap": compound_frontiers.over_heap,
        "crauser": compound_frontiers.crauser,
        "crauser-rows": compound_frontiers.crauser_rows,
        "cost": compound_frontiers.frontier_cost,
        "weight-range": compound_frontiers.weight_range,
        "idle": compound_frontiers.idle,
        "plain-loops": compound_frontiers.plain_loops,
    },
}


def filled(text: str, blocks: dict[str, Callable[[], str]], where: str) -> str:
    """The page with its blocks filled."""
    for name, make in blocks.items():
        begin = f"<!-- {name}: generated by python -m docs.generators -->"
        end = f"<!-- /{name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{where} must have the block {begin} ... {end} once")
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{make()}\n{end}{rest.split(end)[1]}"
    return text


def makers() -> dict[str, Callable[[], str]]:
    """What makes each page, by its path below the root; the index last, for it reads the others."""
    found = dict(WHOLE)
    for where, blocks in BLOCKS.items():

        def fill(where: str = where, blocks: dict[str, Callable[[], str]] = blocks) -> str:
            return filled((checkout.ROOT / where).read_text(encoding="utf-8"), blocks, where)

        found[where] = fill
    return found | reproduction.makers() | {"docs/index.md": index.page}


def main(argv: list[str] | None = None) -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.generators", description="Write the generated documentation."
    )
    parser.add_argument("names", nargs="*", help="stems of pages, such as README; default: all")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if any differs")
    given = parser.parse_args(argv)
    try:
        checkout.require()
    except NearfarError as error:
        print(error, file=sys.stderr)
        return 2
    found = makers()
    pages = {PurePosixPath(where).stem: where for where in found}
    if unknown := [name for name in given.names if name not in pages]:
        parser.error(f"no generated page {unknown[0]!r}: there are {', '.join(pages)}")
    wrong, drawn = [], []
    for name, where in pages.items():
        if given.names and name not in given.names:
            continue
        path, text = checkout.ROOT / where, found[where]()
        if where.startswith(f"{reproduction.FOLDER}/"):
            drawn.append(text)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if given.check:
            wrong.append(f"{where} is out of date")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {where}")
    if not given.names:  # pictures belong to all pages together
        wanted = reproduction.shown(drawn)
        if not given.check:
            reproduction.draw(wanted)
        wrong += reproduction.wrong_pictures(wanted)
    for line in wrong:
        print(f"{line}: run make docs-tables", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
