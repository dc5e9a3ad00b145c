"""Every kernel compiles for every supported architecture without a GPU, and within its registers.

A push compiles every form for one architecture with the widest types, each program with one of the
other types, and with the narrowest for the oldest architecture. ``make test-slow`` compiles every
form with all types, and each program for all architectures. The emulated device compiles and runs
further pairs of form and types (tests/algorithms, tests/solve).

NVRTC comes from its wheel. :func:`cases` names the programs as the Python code requests them; a
kernel file whose entry points are not named is compiled with only the macros of the types.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from nearfar.algorithms.breadth_first.balls import BALL_WIDTH
from nearfar.errors import MissingDependencyError
from nearfar.raster.cuda import macros as raster_macros
from nearfar.raster.raster import offsets as raster_offsets
from nearfar.system.devices import compiler, cupy_module, nvrtc
from nearfar.system.output import replacing
from tests.emulator import CACHE

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
FULL = "sm_90"  # architecture for which every form of every program is compiled
OLDEST = "sm_75"  # architecture with the fewest instructions
NEWEST = "sm_100"  # launch shapes are not tuned for it, and the compiler spills more
NEAR_FAR = "papers/davidson_2014/near_far/"
ONE_LAUNCH = "algorithms/near_far/"
# (index, position, weight, weighted): the narrow forms, the wide one, and none without weights.
TYPES = {
    "int32": ("int", "int", "int", 1),
    "int64": ("int", "int", "long long", 1),
    "float32": ("int", "int", "float", 1),
    "float64-wide": ("long long", "long long", "double", 1),
    "unweighted": ("int", "int", "int", 0),
}
# Fewest and most registers: what compiles with both compiles with the types between.
NARROW, WIDE = ENDS = ("int32", "float64-wide")
BETWEEN = tuple(kind for kind in TYPES if kind not in ENDS)
# Macros that follow from the types; the others make a form.
FROM_TYPES = {
    *("INDEX_T", "OFFSET_T", "WEIGHT_T", "WEIGHTED", "VALUE_T", "OUT_T", "SIGNED_VALUES", "KEY_T"),
    *("ID_T", "FLOATING", "SLOT_BITS", "USE_DPX", "PRUNES", "COLUMNS", "LANES", "TILE", "ROOM"),
    *("BLOCK_THREADS", "BLOCKS_EACH", "THREADS", "SIDE", "DEPTH"),
}
# The one with the most code comes last.
POLICIES = {
    "sweep-owners": {"FAR": 0, "HYBRID": 0, "BUCKETS": 0, "OWNERS": 1, "GATHER": 1},
    "near-far": {"FAR": 1, "HYBRID": 0, "BUCKETS": 0, "OWNERS": 0, "GATHER": 1},
    "buckets": {"FAR": 1, "HYBRID": 0, "BUCKETS": 1, "OWNERS": 0, "GATHER": 1},
    "hybrid-owners": {"FAR": 1, "HYBRID": 1, "BUCKETS": 0, "OWNERS": 1, "GATHER": 1},
}
# Bytes of spills allowed per entry point: a few for convergence barriers in deep loops.
SPILLS = 96
# Whole solves in blocks of 1024 threads, or twice 512, which leaves 64 registers per thread, and
# those of values of 8 bytes; spills are outside their innermost loops.
SPILLS_OF = {
    "near_far_one_launch": 640,
    "near_far_ranges": 640,
    # 64 registers for two blocks of 512 per multiprocessor.
    "partitioned_step": 288,
    "block_per_source": 640,
    "breadth_first": 640,
    # The form with scaled counts, which only numbers of paths beyond a double need.
    "tight_shares": 1088,
}
REGISTERS = 128
# A square of distances beside a square of sums, launched by one block per multiprocessor; a list of
# the 32 nearest with their names; rows of 8-byte weights in blocks of 384; cells, of which
# shared memory holds twelve warps; climbs and products of few sources, of which it has capacity
# for three blocks of four; tiles of rasters, which shared memory bounds too.
REGISTERS_OF = {
    "climb": 176,
    "tight_stops": 255,
    "nearest": 224,
    "near_far_one_launch": 168,
    "sweep": 168,
    "sweep_figures": 168,
    "few_sources": 168,
    "relax_tiles": 168,
}
Case = tuple[str, Mapping[str, "str | int"]]
Table = dict[str, compiler.Resources]


def types(name: str) -> dict[str, str | int]:
    index, offset, weight, weighted = TYPES[name]
    return {"INDEX_T": index, "OFFSET_T": offset, "WEIGHT_T": weight, "WEIGHTED": weighted}


@functools.cache
def programs() -> tuple[str, ...]:
    """Return kernel files with an entry point."""
    texts = {name: (compiler.PACKAGE / name).read_text() for name in compiler.kernel_files()}
    return tuple(name for name, text in texts.items() if 'extern "C" __global__' in text)


def near_far_cases(kind: str) -> Iterator[Case]:
    for name, policy in POLICIES.items():
        stats = int(name == "hybrid-owners")
        macros = {**types(kind), **policy, "STATS": stats}
        files = ["traverse_load_balanced", "gather", "start"]
        files += ["split"] if policy["FAR"] and not policy["BUCKETS"] else []
        for file in files:
            yield f"{NEAR_FAR}{file}.cuh", macros
        for traversal in ("thread", "cooperative_blocks", "cta_warp_scan"):
            yield f"{NEAR_FAR}traverse_{traversal}.cuh", {**macros, "GATHER": policy["OWNERS"]}
        if policy["BUCKETS"]:
            key = "unsigned long long" if kind.endswith("wide") else "unsigned int"
            keys = {"KEY_T": key, "BUCKET_COUNT": 10}
            yield f"{NEAR_FAR}bucketing.cuh", {**macros, **keys}


def one_launch_cases(kind: str) -> Iterator[Case]:
    """Yield the one-launch engine: a far pile or scans, packed distances, sorted rows."""
    base = {**types(kind), "BLOCK_THREADS": 512, "BLOCKS_EACH": 1}
    scan = {"FAR_BY_SCAN": 1}
    whole = base["WEIGHT_T"] in ("int", "long long")
    if base["WEIGHTED"] and whole:
        packed = {**base, **scan, "BLOCK_THREADS": 384, "BLOCKS_EACH": 2}
        for bits in (8, 16):
            yield f"{ONE_LAUNCH}one_launch/one_launch.cuh", {**packed, "DISTANCE_BITS": bits}
    yield "cuda/graph/row_heads.cuh", {**types(kind), "ROW_HEAD": 4}
    yield f"{ONE_LAUNCH}one_launch/one_launch.cuh", {**base, **scan}
    wide = base["WEIGHT_T"] in ("long long", "double")
    shape = {"BLOCK_THREADS": 384 if wide else 512}
    yield f"{ONE_LAUNCH}one_launch/one_launch.cuh", {**base, **shape, "ROW_HEAD": 4}
    if base["WEIGHTED"] and (whole or base["INDEX_T"] == "int"):
        rows = {"ROW_HEAD": 8, "CHAINS": int(not whole)}
        yield "cuda/graph/row_shortcuts.cuh", {**types(kind), **rows}
        if not whole:
            yield "cuda/graph/row_heads.cuh", {**types(kind), **rows}
            yield "cuda/graph/pack_heads.cuh", {**types(kind), **rows}
        yield (
            f"{ONE_LAUNCH}one_launch/one_launch.cuh",
            {**base, **shape, **rows, "SHORTCUTS": 2},
        )
    yield f"{ONE_LAUNCH}one_launch/one_launch.cuh", base
    due = {**base, "HEAVY_DEGREE": 512}
    own = {"INDEX_T": "int", "SEEN_FROM_L1": 0, "BLOCKS_EACH": 2 - wide, "LONG_IN_FLIGHT": 2}
    yield f"{ONE_LAUNCH}partitioned.cuh", {**due, **own}
    if base["WEIGHTED"]:
        sifted, ordered = {"SORTED_ROWS": 0}, {}
        if base["INDEX_T"] == "int":
            sifted |= {} if wide else {"BLOCK_THREADS": 384, "BLOCKS_EACH": 2}
            ordered |= {"BLOCK_THREADS": 384 if wide else 448, "BLOCKS_EACH": 2}
        yield f"{ONE_LAUNCH}one_launch/one_launch_ranges.cuh", {**due, **sifted}
        yield f"{ONE_LAUNCH}one_launch/one_launch_ranges.cuh", {**due, **ordered}
        yield "cuda/graph/sort_rows.cuh", {**types(kind), "SEGMENT": 512}


def batch_cases(kind: str) -> Iterator[Case]:
    """Yield many sources, all pairs, and Bellman-Ford over a queue."""
    base = types(kind)
    if base["INDEX_T"] == "int" or kind == "float64-wide":
        narrow = {**base, "INDEX_T": "int", "OFFSET_T": "int"}
        floating = int(base["WEIGHT_T"] in ("float", "double"))
        full = 64 if base["WEIGHT_T"] in ("long long", "double") else 32
        for bits in (full,) if floating else sorted({16, 32, full}):
            for threads in (256, 1024):
                shape = {"BLOCK_THREADS": threads, "BLOCKS_EACH": 1024 // threads}
                shape |= {"THICK_WORDS": 8, "LISTS": int(threads == 1024)}
                slots = {**narrow, **shape, "SLOT_BITS": bits, "FLOATING": floating}
                yield "algorithms/batched/block_per_source.cuh", slots
                if not slots["FLOATING"]:
                    yield "algorithms/batched/block_per_source.cuh", {**slots, "FIGURES": 1}
        shape = {"SLOT_BITS": full, "FLOATING": floating, "BLOCK_THREADS": 512, "BLOCKS_EACH": 2}
        for said in (0,) if floating else (0, 1):
            form = {**narrow, **shape, "FIGURES": said}
            yield "algorithms/batched/block_per_source_global.cuh", form
        for mode in range(4):
            form = {"SLOTS": 2048, "LOG_SLOTS": 11, "MODE": mode, "THREADS": 64}
            form["LANES_EACH"] = 32 if mode else 4
            yield "algorithms/bounded/bounded.cuh", {**narrow, **form}
    value = {"VALUE_T": base["WEIGHT_T"], "USE_DPX": int(base["WEIGHT_T"] == "int")}
    yield "algorithms/floyd_warshall/tiles.cuh", value
    yield "algorithms/floyd_warshall/tight.cuh", {**value, "ID_T": base["INDEX_T"]}
    for lanes, classes in ((1, 0), (1, 1), (32, 0)):
        form = {"LANES_EACH": lanes, "CLASSES": classes}
        yield "algorithms/bellman_ford/queue.cuh", {**base, **form}
    form = {"LANES_EACH": 1, "CLASSES": 0}
    yield "papers/johnson_apsp/bellman_ford/child_launches.cuh", {**base, **form}


def prepared_cases(kind: str) -> Iterator[Case]:
    """Yield prepared graphs: climbs, sweeps, rows, pairs, customization, exact floats."""
    out = TYPES[kind][2]
    if out in ("float", "double"):
        yield "prepared/cuda/sinks/left_to_right.cuh", {**types(kind), "THREADS": 256}
    values = {"int": "unsigned int", "long long": "unsigned long long"}.get(str(out), str(out))
    columns = 2 if out in ("long long", "double") else 4
    for value in (values, "long long")[: 2 if "int" in kind else 1]:
        base = {"VALUE_T": value, "OUT_T": out, "SIGNED_VALUES": int(value == "long long")}
        for batch in (2, 4):
            yield "prepared/cuda/fronts/climb.cuh", {**base, "WARPS": 4, "BATCH": batch}
        yield "prepared/cuda/sinks/rows.cuh", base
        weigh = {"INDEX_T": "int", "OFFSET_T": "int", "WEIGHT_T": out, "WEIGHTED": 1}
        for sides in (1, 2):
            form = {**base, **weigh, "THREADS": 640, "CLUSTER": 8, "SIDES": sides}
            yield "prepared/cuda/metric/customize.cuh", form
        yield "prepared/cuda/pairs/pairs.cuh", {**base, "PRUNES": int(value == values)}
        if "int" in kind:
            for sides in (1, 2):
                form = {**base, "PRUNES": int(value == values), "SIDES": sides}
                yield "prepared/cuda/pairs/paths.cuh", form
        per_thread = columns if value == values else 2
        yield "prepared/cuda/cut/closures.cuh", base
        wide_values = value in ("unsigned long long", "long long", "double")
        leaves = {**base, "COLUMNS": 2 if wide_values else 4}
        for margin in (0, 8):
            yield (
                "prepared/cuda/bottoms/tiles.cuh",
                {**leaves, "MARGIN": margin, "TILE": 128 if wide_values else 192},
            )
        yield "prepared/cuda/bottoms/leaf_closures.cuh", leaves
        yield "prepared/cuda/bottoms/own_leaf.cuh", leaves
        yield "prepared/cuda/bottoms/leaf_ways.cuh", base
        for lanes, each, by_vertex in ((32, 1, 0), (32 * per_thread, per_thread, 1)):
            form = {"LANES": lanes, "COLUMNS": each, "BY_VERTEX": by_vertex}
            yield "prepared/cuda/bottoms/sweep.cuh", {**base, **form}
        yield "prepared/cuda/pairs/table.cuh", {**base, "COLUMNS": per_thread}
        if value == values:
            whole = {**base, "COLUMNS": columns, "WHOLE": int(out in ("int", "long long"))}
            for keep, names, span in ((1, 0, 4), (32, 1, 512)):
                form = {"KEEP": keep, "FOUND_NAMES": names, "SPAN": span}
                yield "prepared/cuda/sinks/reduce.cuh", {**whole, **form}
            for summed in range(3):
                yield "prepared/cuda/sinks/halves.cuh", {**base, "KIND": summed}
            for doubles in (0, 1):
                yield "prepared/cuda/sinks/place_figures.cuh", {**whole, "DOUBLES": doubles}
            yield "prepared/cuda/sinks/source_order.cuh", weigh
            form = {"LANES": 32 * columns, "COLUMNS": columns}
            yield "prepared/cuda/sinks/sweep_figures.cuh", {**whole, **form}
        form = {"WARPS": 4, "ROOM": 2048 if wide_values else 4096, "STAGE": 16, "STAGES": 4}
        yield "prepared/cuda/fronts/few_sources.cuh", {**leaves, **weigh, **form}
        for groups, across, high, down, shares, ahead in ((1, 8, 4, 4, 8, 3), (2, 16, 4, 4, 1, 4)):
            form = {
                "COLUMNS": 2 if wide_values else 4,
                "GROUPS": groups,
                "ACROSS": across,
                "EACH": high,
                "DOWN": down,
                "SHARES": shares,
                "STAGES": ahead,
            }
            yield "prepared/cuda/fronts/upper.cuh", {**base, **weigh, **form}


def measure_cases(kind: str) -> Iterator[Case]:
    """Yield betweenness of vertices and edges, plain and scaled counts, loads of edges."""
    base = {**types(kind), "INDEX_T": "int", "OFFSET_T": "int"}
    for predecessor in ("int", "long long"):
        yield "measures/traffic/tree_loads.cuh", {**base, "PREDECESSOR_T": predecessor}
    base |= {"BLOCK_THREADS": 512, "BLOCKS_EACH": 2}
    for scaled, edges, symmetric in ((0, 0, 1), (0, 1, 0), (1, 1, 0)):
        form = {"SCALED": scaled, "EDGES": edges, "SYMMETRIC": symmetric}
        yield "measures/centrality/tight_shares.cuh", {**base, **form}
        plain = {**base, "WEIGHT_T": "int", "WEIGHTED": 0, "BITS_SHARED": symmetric}
        yield "measures/centrality/breadth_first_shares.cuh", {**plain, **form}


def raster_cases(kind: str) -> Iterator[Case]:
    dtype = {"int": "int32", "long long": "int64", "float": "float32", "double": "float64"}
    weight = np.dtype(dtype[str(TYPES[kind][2])])
    shapes = ((2, 4), (2, 8), (2, 16), (3, 6), (3, 18), (3, 26))
    for at, (ndim, connectivity) in enumerate(shapes):
        # All rules for two shapes, which the others take in turn.
        rules = (0, 1, 2) if connectivity in (8, 26) else (at % 3,)
        for rule in rules if weight.kind == "f" else (1,):
            steps = raster_offsets(ndim, connectivity)
            yield "raster/kernels/tiles.cuh", raster_macros(weight, ndim, rule, steps)


def cases(kind: str) -> Iterator[Case]:
    """Yield programs of one set of types."""
    listed = [*near_far_cases(kind), *batch_cases(kind), *prepared_cases(kind)]
    listed += [*measure_cases(kind), *raster_cases(kind)]
    for source in ("int", "long long"):
        for file in ("cuda/graph/pack.cuh", "cuda/graph/scan_graph.cuh"):
            listed.append((file, {**types(kind), "SOURCE_T": source}))
    listed.extend(one_launch_cases(kind))
    for pull, is_sorted, signed in ((0, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)):
        form = {"PULL": pull, "SORTED": is_sorted, "SIGNED": signed, "SEGMENT": 512}
        form |= {"COUNTED": 1 - pull}
        listed.append(("cuda/distances/tight_edges.cuh", {**types(kind), **form}))
    whole_numbers = {"WHOLE": int("float" not in kind)}
    listed.append(("cuda/distances/row_figures.cuh", {**types(kind), **whole_numbers}))
    listed.append(("cuda/distances/widen.cuh", {**types(kind), "FROM_T": "int"}))
    search = "algorithms/breadth_first/breadth_first.cuh"
    plain = {**types(kind), "WEIGHT_T": "int", "WEIGHTED": 0}
    wide = plain["INDEX_T"] == "long long"
    whole = {"BLOCK_THREADS": 512 if wide else 1024, "BLOCKS_EACH": 1, "RUNS_AHEAD": 0}
    roads = {"RUNS_AHEAD": 1, "BALL_WIDTH": BALL_WIDTH}
    listed += [(search, {**plain, **whole}), (search, {**plain, **whole, **roads})]
    listed.append(("cuda/graph/row_heads.cuh", {**plain, "WEIGHTED": 1, "ONES": 1, "ROW_HEAD": 8}))
    known = {file for file, _ in listed}
    known |= {file for other in TYPES for file, _ in batch_cases(other)}
    known |= {file for other in TYPES for file, _ in prepared_cases(other)}
    known |= {file for other in TYPES for file, _ in one_launch_cases(other)}
    others = [file for file in programs() if file not in known]
    yield from listed
    yield from ((file, types(kind)) for file in others)


@functools.cache
def library() -> nvrtc.Compiler:
    try:
        return nvrtc.load_library()
    except MissingDependencyError as error:
        pytest.fail(f"{error} (the dev extra brings it)")


@functools.cache
def resources(arch: str, file: str, macros: tuple[tuple[str, str | int], ...]) -> Table:
    """Compile a program, once per text, options and compiler; results are cached on disk."""
    source = compiler.assemble([file])
    options = compiler.options_for(arch, dict(macros), source)
    key = hashlib.sha256("\0".join([library().version, source, *options]).encode()).hexdigest()
    kept = CACHE / f"{key[:32]}.resources.json"
    if not kept.exists():
        CACHE.mkdir(exist_ok=True)
        with replacing(kept) as place:
            place.write_text(json.dumps(compiler.resources(file, source, options)))
    found = json.loads(kept.read_text())
    return {entry: compiler.Resources(*used) for entry, used in found.items()}


def compile_case(arch: str, file: str, macros: Mapping[str, str | int]) -> None:
    table = resources(arch, file, tuple(sorted(macros.items())))
    assert table, f"{file} has no entry point"
    for entry, used in table.items():
        spilled = used.spill_stores + used.spill_loads
        most = REGISTERS_OF.get(entry, REGISTERS)
        assert used.registers <= most, f"{file} {entry} {arch}: {used}"
        allowed = SPILLS_OF.get(entry, SPILLS) * (5 if arch == NEWEST else 1)
        assert spilled <= allowed, f"{file} {entry} {arch}: {used}"


@pytest.fixture(autouse=True)
def own_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    found = library()
    monkeypatch.setattr(cupy_module, "load", lambda: found)


ROOMS = sorted({str(Path(file).parent) for file in programs()})


def cases_of(room: str, kind: str) -> list[Case]:
    """Return the programs of one folder."""
    return [(file, macros) for file, macros in cases(kind) if str(Path(file).parent) == room]


def later(kind: str) -> object:
    """Return a parameter that is run only by ``make test-slow``."""
    return pytest.param(kind, marks=pytest.mark.slow)


@pytest.mark.parametrize("kind", [WIDE, *map(later, (NARROW, *BETWEEN))])
@pytest.mark.parametrize("room", ROOMS)
def test_every_form_compiles(room: str, kind: str) -> None:
    for file, macros in cases_of(room, kind):
        compile_case(FULL, file, macros)


def largest_forms(room: str, kind: str) -> list[Case]:
    """Return each program in its last listed form, which has the most code."""
    return list(dict(cases_of(room, kind)).items())


def form_of(case: Case) -> tuple[str, frozenset[tuple[str, str | int]]]:
    file, macros = case
    return file, frozenset(item for item in macros.items() if item[0] not in FROM_TYPES)


@pytest.mark.parametrize("room", ROOMS)
def test_every_form_of_integers_alone_compiles(room: str) -> None:
    wide = {form_of(case) for case in cases_of(room, WIDE)}
    for file, macros in cases_of(room, NARROW):
        if form_of((file, macros)) not in wide:
            compile_case(FULL, file, macros)


@pytest.mark.parametrize("room", ROOMS)
def test_every_program_compiles_with_other_types(room: str) -> None:
    """The programs of a folder take them in turn."""
    tables = [dict(largest_forms(room, kind)) for kind in (NARROW, *BETWEEN)]
    files = sorted(set().union(*tables))
    for at, file in enumerate(files, start=ROOMS.index(room)):
        has = [table[file] for table in tables if file in table]
        compile_case(FULL, file, has[at % len(has)])


@pytest.mark.parametrize(
    "arch", [OLDEST, *(later(arch) for arch in ARCHITECTURES if arch not in (FULL, OLDEST))]
)
@pytest.mark.parametrize("kind", [ENDS[0], later(ENDS[1])])
@pytest.mark.parametrize("room", ROOMS)
def test_every_program_compiles(room: str, kind: str, arch: str) -> None:
    """Other architectures differ in instructions, registers and shared memory.

    These depend on the widths of types, not on the branches that a policy takes.
    """
    for file, macros in largest_forms(room, kind):
        compile_case(arch, file, macros)


def test_every_program_has_a_case() -> None:
    assert set(programs()) <= {file for kind in TYPES for file, _ in cases(kind)}


def test_kernel_files_include_nothing() -> None:
    for name in compiler.kernel_files():
        text = (compiler.PACKAGE / name).read_text(encoding="utf-8")
        assert not re.search(r"^\s*#\s*include", text, re.MULTILINE), name
        assert text.startswith("// "), f"{name} does not open with what it computes"


def test_a_spill_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is parsed correctly: a kernel limited to few registers spills."""
    body = "".join(f"float a{i} = p[{i} * q];" for i in range(96))
    total = " + ".join(f"a{i} * a{(i * 7 + 3) % 96}" for i in range(96))
    head = 'extern "C" __global__ void k(float* p, int q)'
    source = f"{head} {{ {body} __syncthreads(); p[q] = {total}; }}"
    options = (*compiler.options_for("sm_90", {}), "--maxrregcount=24")
    used = compiler.resources("k", source, options)["k"]
    assert used.registers <= 24
    assert used.spill_stores > SPILLS
