"""Interfaces ("doors") of the soak test beyond plain solves, and the table of all of them.

SciPy's and NetworkX's functions, files, the command line, prepared graphs, device arrays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import json
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearfar
import nearfar.csgraph
from nearfar import Graph, Prepared
from nearfar.errors import DistanceOverflowError, NegativeCycleError
from nearfar.formats import read, write
from nearfar.registry import Request
from soak_extremes import extremes
from soak_oracle import Edges, Rows, answer, differs, lightest, rows_of, wrong_tree
from soak_solves import (
    distances,
    distances_trial,
    k_shortest,
    nearest,
    negative_cycle,
    pairs,
    reduce,
    shortest_path,
    sssp,
    sssp_trial,
)
from soak_trial import (
    Judge,
    Soak,
    Trial,
    array_judge,
    cycles,
    path_judge,
    rounding,
    same,
    words,
)

# ---- other libraries ----------------------------------------------------------------------------


def csgraph(soak: Soak) -> Iterator[Trial]:
    """Yield trials of SciPy's functions: float64 rows, one matrix in several formats."""
    truth = soak.truth
    if truth.edges.huge or truth.edges.kind == np.float32 or soak.n > 400:
        return
    rows = soak.some_rows(20)
    every = np.arange(len(truth.sources))
    matrix = soak.graph.to_scipy()
    if soak.chance(0.3):
        matrix = getattr(matrix, f"to{soak.one_of(['csc', 'coo'])}")()
    kinds: list[tuple[str, NDArray[np.int64], dict[str, Any]]] = [
        ("dijkstra", rows, {"indices": truth.sources[rows]}),
        ("bellman_ford", rows[:4], {"indices": truth.sources[rows[:4]]}),
        ("shortest_path", rows, {"indices": truth.sources[rows]}),
    ]
    if soak.case.whole:
        kinds += [("johnson", every, {}), ("floyd_warshall", every, {})]
    for name, mine, given in kinds:
        if truth.edges.negative and name == "dijkstra":
            continue  # SciPy's warning
        anywhere = name == "shortest_path" and truth.edges.negative
        if anywhere and not soak.case.whole:
            continue  # SciPy finds negative cycles anywhere; the oracle knows only some sources
        tree = soak.chance(0.3)
        want = np.where(truth.reached[mine], truth.values[mine], np.inf).astype(np.float64)
        yield Trial(
            words(f"csgraph.{name}", return_predecessors=tree, **given),
            _csgraph_call(soak, name, matrix, tree, given),
            _csgraph_judge(truth, mine, want, tree),
            rows=len(mine),
            engine=f"csgraph.{name}",
            error=(nearfar.csgraph.NegativeCycleError,)
            if truth.cycle[... if anywhere else mine].any()
            else (),
        )
    sources = truth.sources[rows]
    if not truth.edges.negative:
        least = np.where(truth.reached[rows], truth.values[rows], np.inf).min(axis=0)
        yield Trial(
            words("csgraph.dijkstra", indices=sources, min_only=True),
            lambda: nearfar.csgraph.dijkstra(
                matrix, indices=sources, min_only=True, device=soak.device
            ),
            array_judge(least.astype(np.float64)),
            engine="csgraph.dijkstra",
        )


def _csgraph_call(
    soak: Soak, name: str, matrix: Any, tree: bool, given: dict[str, Any]
) -> Callable[[], Any]:
    function = getattr(nearfar.csgraph, name)
    return lambda: function(matrix, return_predecessors=tree, device=soak.device, **given)


def _csgraph_judge(truth: Rows, rows: NDArray[np.int64], want: NDArray[Any], tree: bool) -> Judge:
    def judge(found: Any) -> str | None:
        matrix, before = found if tree else (found, None)
        wrong = differs(matrix, want)
        return wrong or (wrong_tree(truth, rows, before, none=-9999) if tree else None)

    return judge


def networkx(soak: Soak) -> Iterator[Trial]:
    """Yield trials of NetworkX's functions through the backend, from a separate graph."""
    import networkx as nx

    if "nearfar" not in nx.utils.backends.backends:
        return  # NetworkX finds a backend through the metadata of an installed package
    truth, case = soak.truth, soak.case
    if truth.edges.huge or soak.n > 200 or soak.device == "cuda" or truth.cycle.any():
        return
    if truth.edges.kind == np.float32:
        return  # NetworkX adds Python's floats
    tails, heads, weights = case.drawn
    made = (nx.MultiDiGraph if case.directed else nx.MultiGraph)()
    made.add_nodes_from(range(soak.n))
    if weights is None:
        made.add_edges_from(zip(tails.tolist(), heads.tolist(), strict=True))
    else:
        made.add_weighted_edges_from(
            zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True)
        )
    names = ["single_source_bellman_ford_path_length"]
    if not truth.edges.negative:
        names.append("single_source_dijkstra_path_length")
    for name in names:
        row = soak.row()
        source = int(truth.sources[row])
        want = _named_row(truth, row)
        yield Trial(
            words(f"networkx.{name}", source=source),
            _networkx_call(name, made, source),
            same(want),
            engine=f"networkx.{name}",
        )
    if soak.case.whole:
        rows = [_named_row(truth, row) for row in range(soak.n)]
        name = "all_pairs_bellman_ford_path_length"
        yield Trial(
            f"networkx.{name}()",
            lambda: dict(getattr(nx, name)(made, backend="nearfar")),
            same(dict(enumerate(rows))),
            rows=soak.n,
            engine=f"networkx.{name}",
        )


def _named_row(truth: Rows, row: int) -> dict[int, Any]:
    there = np.flatnonzero(truth.reached[row])
    return dict(zip(there.tolist(), truth.values[row, there].tolist(), strict=True))


def _networkx_call(name: str, graph: Any, source: int) -> Callable[[], Any]:
    import networkx as nx

    return lambda: getattr(nx, name)(graph, source, backend="nearfar")


# ---- files and the command line -----------------------------------------------------------------

# Files that store weights exactly: name, options of writing and reading, dtypes, first number.
FILES: list[tuple[str, dict[str, Any], dict[str, Any], str, int]] = [
    ("g.nfg", {}, {}, "any", 0),
    ("g.npz", {}, {}, "any", 0),
    ("g.txt", {}, {}, "any", 0),
    ("g.mtx", {}, {}, "any", 1),
    ("g.gr", {}, {}, "integers", 1),
    ("g.csv", {}, {}, "weighted", 0),
    ("g.parquet", {}, {}, "weighted", 0),
    ("g.txt.gz", {}, {}, "any", 0),
    ("g.mtx.zst", {}, {}, "any", 1),
]


def _can_write(name: str) -> bool:
    """Return whether the package that a file of that name needs is installed."""
    needed = {"zst": "zstandard", "parquet": "pyarrow", "zarr": "zarr"}.get(name.rpartition(".")[2])
    return needed is None or importlib.util.find_spec(needed) is not None


def files(soak: Soak) -> Iterator[Trial]:
    """Yield trials of a graph written to a file and read again."""
    truth, graph = soak.truth, soak.graph
    if truth.edges.huge or not len(truth.edges.tails) or soak.n > 400:
        return
    name, writing, reading, takes, first = soak.one_of([f for f in FILES if _can_write(f[0])])
    kind = truth.edges.kind.kind
    if takes == "integers" and (kind != "i" or truth.edges.negative):
        return
    if takes != "any" and soak.case.kind == "unweighted":
        return
    row = soak.row()
    source = int(truth.sources[row])
    if takes == "weighted" and not (truth.edges.tails == source).any():
        return  # tables list edges, so they lose isolated vertices
    exact = name.startswith(("g.nfg", "g.npz", "g.parquet"))
    values, reached = truth.values[row], truth.reached[row]
    path = soak.folder / name

    def call() -> Any:
        write(graph, path, **writing)
        again = read(path, **reading)
        # The source's name in the file, which numbers vertices from 0 or 1.
        paths = nearfar.sssp(again, source + first, device=soak.device)
        return (
            [paths.distance_to(v + first) for v in np.flatnonzero(reached).tolist()],
            paths.n_reached,
            paths.distances.dtype,
        )

    def judge(found: Any) -> str | None:
        got, count, dtype = found
        if count != np.count_nonzero(reached):
            return f"{count} vertices reached instead of {np.count_nonzero(reached)}"
        want = values[reached]
        if exact and dtype.itemsize < truth.edges.kind.itemsize:
            return f"dtype {dtype}"
        if truth.edges.kind == np.float32 and dtype != np.float32:
            # Text has no dtype: sums have 64 bits.
            right = np.allclose(got, want.astype(float), rtol=1e-5)
        else:
            right = got == want.tolist()
        return None if right else f"{got[:5]} instead of {want[:5]}"

    yield Trial(
        words("read", file=name, source=source),
        call,
        judge,
        engine=f"file {name[2:]}",
        error=cycles(truth, [row]),
    )


def row_files(soak: Soak) -> Iterator[Trial]:
    """Yield trials of rows written block by block to a file, in the weights' dtype."""
    truth = soak.truth
    if truth.edges.huge or truth.cycle.any():
        return
    rows = soak.some_rows()
    want = truth.expected(rows)
    name = soak.one_of([f for f in ("rows.npy", "rows.parquet", "rows.zarr") if _can_write(f)])
    path = soak.folder / f"{soak.case.number}-{name}"
    block = int(soak.one_of([1, 7, 100]))
    stats: dict[str, Any] = {}

    def call() -> Any:
        from nearfar.solve.rows.row_files import read_rows

        given: dict[str, Any] = {"block": block, "device": soak.device, "stats": stats}
        nearfar.distances(soak.graph, truth.sources[rows], out=path, **given)
        if name.endswith(".npy"):
            return np.load(path)
        if name.endswith(".parquet"):
            return read_rows(path)[1]
        import zarr

        return zarr.open(path, mode="r")[...]

    yield Trial(
        words("distances", sources=truth.sources[rows], out=name, block=block),
        call,
        array_judge(want, near=lambda: rounding(stats, truth.edges)),
        rows=len(rows),
        error=() if want.dtype == truth.edges.kind else (DistanceOverflowError,),
        stats=stats,
    )


def command_line(soak: Soak) -> Iterator[Trial]:
    """Yield trials of the program, run in this process on a file."""
    truth = soak.truth
    if truth.edges.huge or soak.n > 200 or not len(truth.edges.tails):
        return
    path = soak.folder / "cli.nfg"
    rows = soak.some_rows(5)
    sources = truth.sources[rows]
    targets = soak.vertices(4)
    device = ["--device", soak.device]
    values, reached = truth.values[rows][:, targets], truth.reached[rows][:, targets]
    want = np.where(reached, values, np.inf).astype(np.float64).tolist()
    error = cycles(truth, rows)

    def table() -> Any:
        write(soak.graph, path)
        return program(
            "distances", path, "--source", *sources, "--target", *targets, "--json", *device
        )

    def judge(found: Any) -> str | None:
        code, text = found
        if error:
            return None if code == 5 else f"exit code {code} for a negative cycle"
        if code:
            return f"exit code {code}"
        got = json.loads(text)["values"]
        got = [[float("inf") if v is None else v for v in row] for row in got]
        return None if got == want else f"{got} instead of {want}"

    yield Trial(
        words("nearfar distances", source=sources, target=targets),
        table,
        judge,
        rows=len(rows),
        engine="nearfar distances",
    )
    row = int(rows[0])
    if truth.cycle[row]:
        return

    def one(found: Any) -> str | None:
        code, text = found
        if code:
            return f"exit code {code}"
        data = json.loads(text)
        there = truth.reached[row]
        far = truth.values[row][there].max()
        if data["reached"] != np.count_nonzero(there) or data["farthest_distance"] != far:
            return f"reached {data['reached']}, farthest {data['farthest_distance']}, not {far}"
        return None

    yield Trial(
        words("nearfar sssp --prove", source=sources[0]),
        lambda: program("sssp", path, sources[0], "--json", "--prove", *device),
        one,
        engine="nearfar sssp",
    )


def program(*arguments: Any) -> tuple[int, str]:
    """Return the exit code and the printed output."""
    from nearfar.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as left:
            code = int(left.code or 0)
    if code == 130:
        raise KeyboardInterrupt
    return code, out.getvalue()


# ---- prepared graphs ----------------------------------------------------------------------------


def prepared(soak: Soak) -> Iterator[Trial]:
    """Yield every query of a prepared graph, again after new weights, and from a file."""
    truth = soak.truth
    if soak.n > 400 or soak.graph.n_edges > 3000 or truth.edges.huge:
        return
    order: Any = soak.one_of(["multilevel", "auto", "random"])
    if order == "random":
        order = soak.rng.permutation(soak.n)
    perfect = soak.chance(0.7)

    def make() -> Prepared:
        return nearfar.prepare(soak.graph, order, force=True, perfect=perfect, threads=1)

    if truth.cycle.any():
        yield Trial("prepare()", make, lambda _: None, 0, "prepare", error=(NegativeCycleError,))
        return
    ready = make()
    yield from prepared_queries(soak, ready, truth)
    edges = of_graph(ready)
    way = soak.one_of(["reweight", "update", "save", "pickle"])
    if way == "save":
        path = soak.folder / "g.nfp"
        ready.save(path)
        yield from prepared_queries(soak, nearfar.load(path), truth)
    elif way == "pickle":
        yield from prepared_queries(soak, pickle.loads(pickle.dumps(ready)), truth)
    elif len(edges.weights):
        kind = ready.weight_dtype
        new = np.array(ready.effective_weights)
        at = soak.rng.integers(0, len(new), 1 + len(new) // soak.one_of([2, 10, 100]))
        at = np.unique(at)
        new[at] = soak.rng.integers(0, 100, len(at)).astype(kind)
        if kind.kind == "f" and not truth.edges.negative:
            new[at] = soak.rng.random(len(at)).astype(kind)
        changed = dataclasses.replace(edges, weights=new if kind.kind == "f" else new.astype("i8"))
        if changed.huge:
            return
        rows = rows_of(changed, truth.sources)
        call = (
            (lambda: ready.reweight(new))
            if way == "reweight"
            else (lambda: ready.update(at, new[at]))
        )
        if rows.cycle.any():
            yield Trial(f"{way}()", call, lambda _: None, 0, "prepare", (NegativeCycleError,))
            return
        yield from prepared_queries(soak, call(), rows)


def of_graph(graph: Graph) -> Edges:
    """Return the edges of a graph in its own order."""
    weights = np.array(graph.effective_weights)
    if weights.dtype.kind == "i":
        weights = weights.astype(np.int64)
    tails = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    return Edges(
        graph.n_vertices, tails, np.asarray(graph.indices, dtype=np.int64), weights,
        graph.weight_dtype,
    )  # fmt: skip


def prepared_queries(soak: Soak, ready: Prepared, truth: Rows) -> Iterator[Trial]:
    """Yield one pair, many pairs, labels, a path, a row, rows, and a table."""
    least = lightest(truth.edges)
    rows = soak.some_rows()
    ends = soak.rng.integers(0, soak.n, len(rows))
    asked = np.stack((truth.sources[rows], ends), axis=1)
    want = answer(truth.values[rows, ends], truth.reached[rows, ends], truth.edges.kind)
    one = want[0]
    top = np.inf if want.dtype.kind == "f" else np.iinfo(want.dtype).max
    first = float("inf") if one == top else one.item()
    near = rounding({"engine": "elimination_tree@cpu"}, truth.edges)

    def alike(found: Any) -> str | None:
        return None if np.isclose(found, first, rtol=near, atol=0) else f"{found}, not {first}"

    source, target = int(asked[0, 0]), int(asked[0, 1])
    yield Trial(
        words("Prepared.distance", source=source, target=target),
        lambda: ready.distance(source, target),
        alike if near else same(first),
        engine="Prepared.distance",
    )
    yield Trial(
        words("Prepared.path", source=source, target=target),
        lambda: ready.path(source, target),
        path_judge(least, source, target, first, near),
        engine="Prepared.path",
        error=(nearfar.UnreachableError,) if first == float("inf") else (),
    )
    yield Trial(
        words("Prepared.distances_of_pairs", pairs=asked),
        lambda: ready.distances_of_pairs(asked, soak.threads()),
        array_judge(want, near=lambda: near),
        rows=len(rows),
        engine="Prepared.distances_of_pairs",
    )
    yield Trial(
        words("Prepared.label().distances_of_pairs", pairs=asked),
        lambda: ready.label().distances_of_pairs(asked),
        array_judge(want, near=lambda: near),
        rows=len(rows),
        engine="TreeLabels.distances_of_pairs",
    )
    for variant in soak.variants("sssp"):
        if variant.family == "prepared" and variant.fits(ready, Request()) is True:
            yield sssp_trial(soak, ready, truth, soak.row(), variant.id)
    for variant in soak.variants("batch"):
        if variant.family == "prepared" and variant.fits(ready, Request("batch")) is True:
            yield distances_trial(soak, ready, truth, variant.id)


# ---- a GPU --------------------------------------------------------------------------------------


def on_device(soak: Soak) -> Iterator[Trial]:
    """Yield trials of a graph built from device arrays, whose answers stay on the device."""
    if soak.device != "cuda" or not soak.graph.n_edges:
        return
    import cupy

    graph, truth = soak.graph, soak.truth
    parts = (graph.indptr, graph.indices, graph.weights)
    there = Graph.from_csr(*(part if part is None else cupy.asarray(part) for part in parts))
    for _ in range(2):
        yield sssp_trial(soak, there, truth, soak.row(), "auto")
        yield distances_trial(soak, there, truth, "auto")


#: Interfaces by name, each with the share of cases that use it.
DOORS: dict[str, tuple[Callable[[Soak], Iterator[Trial]], float]] = {
    "sssp": (sssp, 1.0),
    "shortest_path": (shortest_path, 0.5),
    "k_shortest_paths": (k_shortest, 0.3),
    "find_negative_cycle": (negative_cycle, 1.0),
    "nearest": (nearest, 0.5),
    "distances and all_pairs": (distances, 1.0),
    "reduce": (reduce, 0.4),
    "pairs": (pairs, 0.5),
    "csgraph": (csgraph, 0.4),
    "networkx": (networkx, 0.1),
    "files": (files, 0.3),
    "row files": (row_files, 0.1),
    "command line": (command_line, 0.05),
    "prepared": (prepared, 0.4),
    "device arrays": (on_device, 1.0),
    "ends of the dtypes": (extremes, 1.0),
}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Return a folder for the files of a process."""
    with tempfile.TemporaryDirectory(prefix="nearfar-soak-") as made:
        yield Path(made)
