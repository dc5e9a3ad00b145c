"""Input of users: names of methods and devices, other libraries' keywords, wrong objects."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.generators.option_types import module as written_types

import nearfar
import networkx as nx
from nearfar import Graph, answer, raster
from nearfar.errors import GraphError, NegativeWeightError, OptionError, VariantUnavailable
from nearfar.options import canonical_device
from nearfar.solve import option_types


@pytest.fixture
def g() -> Graph:
    return Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])


@pytest.mark.parametrize(
    ("method", "idea"),
    [
        ("bellman-ford", "bellman_ford"),
        ("Bellman-Ford", "bellman_ford"),
        ("delta-stepping", "delta_stepping"),
        ("near-far@cpu", "near_far"),
        ("dijkstra", "dijkstra"),
        ("Dijkstra", "dijkstra"),
    ],
)
def test_methods_as_people_type_them(g: Graph, method: str, idea: str) -> None:
    paths = nearfar.sssp(g, 0, method=method, device="cpu")
    assert paths.engine.startswith(idea)
    assert paths.distances.tolist() == [0, 4, 7]
    assert nearfar.distances(g, [0], method=method).tolist() == [[0, 4, 7]]


def test_a_family_is_its_cheapest_form() -> None:
    large = nearfar.generate("grid", rows=60, columns=60)
    paths = nearfar.sssp(large, 0, method="dijkstra")
    ranked = nearfar.explain(large, 0).ranking
    cheapest = next(c.variant.id for c in ranked if c.variant.family == "dijkstra")
    assert paths.engine == cheapest
    assert paths.reason.startswith("the cheapest of dijkstra: ")
    with pytest.raises(NegativeWeightError):
        nearfar.sssp(Graph.from_edges([0], [1], [-1]), 0, method="dijkstra")


def test_a_device_is_a_name(g: Graph) -> None:
    for wrong in (np.array([]), np.array(["cpu", "cuda"]), 0, None):
        with pytest.raises(OptionError, match=r"device is .*: use 'auto', 'cpu' or 'cuda'"):
            nearfar.sssp(g, 0, device=wrong)  # type: ignore[arg-type]


def test_gpu_is_cuda(g: Graph, emulated_gpu: Any) -> None:
    assert canonical_device("gpu") == "cuda"
    assert nearfar.sssp(g, 0, device="gpu").engine.endswith("@cuda")
    assert nearfar.sssp(g, 0, method="near_far@gpu").engine == "near_far@cuda"


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ({"cutoff": 4}, "use limit"),
        ({"target": 2}, r"use targets=\[...\], or nearfar.shortest_path"),
        ({"directed": False}, "use Graph.from_edges"),
        ({"sources": [0]}, r"nearfar.distances\(graph, sources\)"),
        ({"limt": 3}, "did you mean 'limit'"),
        ({"delt": 3}, "did you mean 'delta'"),
        ({"algorithm": "dijkstra"}, "use method"),
    ],
)
def test_keywords_of_other_libraries_get_a_hint(g: Graph, keyword: Any, hint: str) -> None:
    with pytest.raises(OptionError, match=hint):
        nearfar.sssp(g, 0, method="delta_stepping@cpu", **keyword)
    with pytest.raises(OptionError, match=hint.replace("did you mean 'delta'", "delt")):
        nearfar.sssp(g, 0, **keyword)


def test_sources_of_many_and_devices_get_a_hint(g: Graph) -> None:
    with pytest.raises(OptionError, match=r"no option 'source': use sources=\[\.\.\.\]"):
        nearfar.distances(g, source=0)  # type: ignore[call-overload]
    with pytest.raises(OptionError, match=r"use 'auto', 'cpu' or 'cuda'; did you mean 'gpu'\?"):
        nearfar.sssp(g, 0, device="gpuu")  # type: ignore[arg-type]
    with pytest.raises(VariantUnavailable, match="no CUDA device"):
        nearfar.prepare(g, device="gpu")


def test_methods_under_other_names_and_nearly_right(g: Graph) -> None:
    unweighted = g.without_weights()
    assert nearfar.sssp(unweighted, 0, method="Breadth first").engine.startswith("breadth_first")
    with pytest.raises(OptionError, match=r"no method 'djikstra'; did you mean 'dijkstra'"):
        nearfar.sssp(g, 0, method="djikstra")
    refusal = r"^floyd_warshall@cpu: solves all pairs, not one source"
    with pytest.raises(VariantUnavailable, match=refusal):
        nearfar.sssp(g, 0, method="floyd-warshall@cpu")


def test_several_sources_are_sent_on(g: Graph) -> None:
    for several in ([0, 1], np.array([0]), range(2)):
        with pytest.raises(nearfar.VertexError, match=r"use nearfar\.distances .*nearfar\.nearest"):
            nearfar.sssp(g, several)


def test_everything_that_is_searched_can_be_prepared() -> None:
    theirs = nx.grid_2d_graph(6, 6)
    prepared = nearfar.prepare(theirs)
    assert prepared.distance((0, 0), (5, 5)) == 10
    assert nearfar.prepare(nx.to_scipy_sparse_array(theirs)).distance(0, 35) == 10
    with pytest.raises(nearfar.GraphError, match="cannot convert int to a graph"):
        nearfar.prepare(7)  # type: ignore[arg-type]


def test_outputs_that_nobody_knows(g: Graph, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"out is 'panda': .*did you mean 'pandas'\?"):
        nearfar.distances(g, [0], out="panda")
    for name in ("map.jpg", "map.geojson", "map"):
        with pytest.raises(OptionError, match=r"end it in \.png, \.svg, \.pdf, \.html; nearfar"):
            nearfar.isochrone(g, 0, tmp_path / name)


def test_what_scipy_has_besides_is_named() -> None:
    with pytest.raises(AttributeError, match=r"use scipy\.sparse\.csgraph\.connected_components"):
        nearfar.csgraph.connected_components  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'dijkstar'"):
        nearfar.csgraph.dijkstar  # noqa: B018


@pytest.mark.parametrize("weight", ["3", None])
def test_a_weight_that_is_no_number_is_refused(weight: Any) -> None:
    """Regression: the text "3" counted as 3, and None as NaN."""
    theirs = nx.DiGraph([("a", "b", {"weight": weight}), ("b", "c", {"weight": 2})])
    with pytest.raises(
        nearfar.GraphError, match="edge attribute 'weight' is not a number everywhere"
    ):
        nearfar.sssp(theirs, "a")


def test_a_proof_of_an_array_says_what_proves_it(g: Graph) -> None:
    with pytest.raises(OptionError, match=r"not ndarray: .*nearfar\.answer\.certify"):
        nearfar.verify(g, np.array([0, 4, 7]))  # type: ignore[arg-type]


def test_explain_ranks_what_auto_would_take(g: Graph) -> None:
    found = nearfar.explain(g, 0)
    assert found.ranking[0].variant.id == nearfar.sssp(g, 0).engine
    assert found.ranking[0].variant.id in str(found)
    assert f"<th>{found.ranking[0].variant.id}</th>" in found._repr_html_()
    stats: dict[str, Any] = {}
    nearfar.distances(g, [0, 1], stats=stats)
    assert nearfar.explain(g, [0, 1]).ranking[0].variant.id == stats["engine"]
    assert nearfar.explain(g).ranking
    with pytest.raises(nearfar.VertexError):
        nearfar.explain(g, 17)


def test_public_modules_are_there_and_nothing_else_is_shown() -> None:
    """Regression: nearfar.csgraph needed a separate import; dir() listed helpers."""
    code = "import nearfar; print(nearfar.csgraph.dijkstra, nearfar.solve.Nearest, dir(nearfar))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "function dijkstra" in out.stdout
    for module in ("nearfar", "nearfar.solve", "nearfar.measures", "nearfar.answer"):
        found = importlib.import_module(module)
        shown = {name for name in dir(found) if not name.startswith("__")}
        assert set(found.__all__) <= shown
        assert shown - set(found.__all__) <= set(nearfar._PUBLIC), module


def test_the_types_of_options_are_those_of_the_variants() -> None:
    assert Path(option_types.__file__).read_text(encoding="utf-8") == written_types()


TYPED = """
import numpy as np
from numpy.typing import NDArray
from typing import Any
import nearfar
import networkx as nx
g = nearfar.Graph.from_edges([0], [1])
a: nearfar.Paths = nearfar.sssp(g, 0, method="dijkstra", device="gpu", limit=3, delta=4.0)
b: NDArray[Any] = nearfar.distances(g, [0])
c: tuple[NDArray[Any], NDArray[Any]] = nearfar.distances(g, [0], predecessors=True)
d: NDArray[Any] = nearfar.distances(g, pairs=[(0, 1)])
e: NDArray[Any] = nearfar.all_pairs(g, reduce="count", width=4)
f: nearfar.Paths = nearfar.isochrone(g, 0, "map.png", width=9.0)
nearfar.sssp(g, 0, limt=3)
nearfar.sssp(g, 0, "dijkstra")
nearfar.sssp(g, 0, delta="wide")
nearfar.sssp(7, 0)
nearfar.sssp(g, 0, device="tpu")
nearfar.distances(g, [0], cutoff=3)
nearfar.distances(g, [0], predecessors=True).shape
nearfar.all_pairs(g, sources=[0])
"""


def test_type_checkers_refuse_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    """Regression: mypy accepted `sssp(g, 0, limt=3)` and inferred Any for answers."""
    pytest.importorskip("mypy")
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(file)]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    lines = TYPED.splitlines()
    first = next(at for at, line in enumerate(lines, start=1) if "limt" in line)
    wrong = {
        int(line.split(":")[1]) for line in done.stdout.splitlines() if "typed.py:" in line
        and ": error:" in line
    }  # fmt: skip
    assert wrong == set(range(first, len(lines) + 1)), done.stdout


def test_names_of_files_are_names(g: Graph) -> None:
    """Other arguments were a TypeError of the operating system's functions."""
    square = raster.cost_distance(np.ones((3, 3)), (0, 0))
    paths = nearfar.sssp(g, 0)
    calls: list[Callable[[Any], Any]] = [
        lambda file: nearfar.isochrone(g, 0, file),
        lambda file: nearfar.write(g, file),
        nearfar.read,
        nearfar.load,
        nearfar.prepare(g).save,
        raster.read_raster,
        lambda file: raster.write_raster(square, file),
        lambda file: raster.map_array(np.ones((3, 3)), file),
        lambda file: raster.draw_surface(square, file),
        lambda file: answer.write_geography({"type": "FeatureCollection", "features": []}, file),
        lambda file: answer.draw_page(paths, file),
        lambda file: answer.draw_isochrones(paths, file),
    ]
    for call in calls:
        for wrong in (1, None, 2.5, ["a.png"]):
            with pytest.raises(OptionError, match=r"file is .*: give the name of a file"):
                call(wrong)


def test_names_of_files_may_be_bytes(g: Graph, tmp_path: Path) -> None:
    nearfar.write(g, bytes(tmp_path / "g.nfg"))
    assert nearfar.read(bytes(tmp_path / "g.nfg")).n_edges == g.n_edges


@pytest.mark.parametrize("name", ["networkx", "igraph", "rustworkx", "osmnx"])
def test_objects_of_other_libraries(g: Graph, name: str) -> None:
    with pytest.raises(GraphError, match=rf"(?i)expected a graph of {name}, got Graph"):
        getattr(Graph, f"from_{name}")(g)


def test_generators_have_names() -> None:
    with pytest.raises(OptionError, match="no generator 1: there are"):
        nearfar.generate(1)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'a' x 3 cells: give integers"):
        raster.landscape("a", 3)  # type: ignore[arg-type]
