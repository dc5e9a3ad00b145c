"""Registry: metadata of every variant, and lookup of names."""

from __future__ import annotations

import dataclasses
import importlib
import subprocess
import sys
from inspect import signature

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.errors import OptionError, VariantUnavailable
from nearfar.registry import Request, find, ideas, variants

ALL = variants(unsafe=True)


@pytest.mark.parametrize("variant", ALL, ids=lambda v: v.id)
def test_metadata(variant) -> None:
    assert variant.id == f"{variant.idea}@{variant.device}"
    assert variant.summary
    assert variant.summary[-1] != "."
    assert variant.paper, "names its source"
    assert variant.problems <= {"sssp", "batch", "all_pairs"}
    assert dataclasses.is_dataclass(variant.options)
    variant.options()  # every option has a default
    family = importlib.import_module(variant.run.__module__.rpartition(".")[0])
    assert family.__doc__
    assert len(family.__doc__) > 200, "the family explains its idea"
    assert variant.run.__doc__ or family.__doc__


def test_an_option_can_be_reached() -> None:
    """An option named like an argument of the call would never reach the variant."""
    one, many = (set(signature(call).parameters) for call in (nearfar.sssp, nearfar.distances))
    for variant in ALL:
        names = {field.name for field in dataclasses.fields(variant.options)}
        assert not names & one, variant.id
        # Several devices divide many sources in the call, one source in the method.
        assert not (names - {"devices"} if "sssp" in variant.problems else names) & many, variant.id


def test_names_are_found_with_and_without_the_device() -> None:
    assert [v.id for v in find("delta_stepping@cpu")] == ["delta_stepping@cpu"]
    assert "delta_stepping@cpu" in [v.id for v in find("delta_stepping", "cpu")]
    assert "delta_stepping" in ideas()
    with pytest.raises(OptionError, match="did you mean"):
        find("delta_steping")
    with pytest.raises(OptionError, match="did you mean 'auto'"):
        find("Auto")


def test_unsafe_variants_run_only_when_asked_for() -> None:
    unsafe = [v for v in ALL if v.unsafe]
    assert unsafe
    for v in unsafe:
        with pytest.raises(VariantUnavailable, match="allow_unsafe"):
            find(v.id)
        assert find(v.id, allow_unsafe=True) == [v]


def test_can_run_gives_reasons_in_words() -> None:
    g = Graph.from_edges([0], [1], [-1])
    (v,) = find("dijkstra_binary_heap@cpu")
    assert v.can_run(g, Request()) == "negative weight on edge 0"
    (v,) = find("breadth_first@cpu")
    assert v.can_run(g, Request()) == "needs a graph without weights or with equal ones"
    (v,) = find("dijkstra_radix_heap@cpu")
    v = dataclasses.replace(v, dtypes=frozenset({"int32", "int64"}))
    floats = Graph.from_edges([0], [1], [1.0])
    assert v.can_run(floats, Request()) == "does not accept float64 weights"


def test_cuda_variants_say_what_is_missing_where_there_is_no_gpu() -> None:
    from nearfar.system.devices import runtime

    if runtime.available() is True:
        pytest.skip("a GPU is here")
    g = Graph.from_edges([0], [1], [1])
    with pytest.raises(VariantUnavailable, match=r"near_far_host_loop@cuda: .*cuda"):
        nearfar.sssp(g, 0, method="near_far_host_loop@cuda")


def test_auto_runs_on_every_kind_of_graph() -> None:
    for weights in (None, np.int32, np.int64, np.float32, np.float64):
        w = None if weights is None else np.array([2, 3], dtype=weights)
        p = nearfar.sssp(Graph.from_edges([0, 1], [1, 2], w), 0)
        assert p.distances.tolist() == ([0, 1, 2] if weights is None else [0, 2, 5])
        assert p.engine
        assert p.reason


@pytest.mark.parametrize(
    ("asked", "missing"), [("cpu", "near_far.cuda"), ("cuda", "delta_stepping.cpu")]
)
def test_methods_of_the_other_device_are_not_imported(asked: str, missing: str) -> None:
    """They are a fifth of the modules that the first solve of a process imports."""
    program = f"""if True:
        import sys
        from nearfar.registry import priced, variants
        assert priced({asked!r}, "sssp")
        assert "nearfar.algorithms.dijkstra" in sys.modules
        assert "nearfar.algorithms.{missing}" not in sys.modules
        assert "nearfar.prepared.prepared" not in sys.modules
        assert {{v.device for v in variants()}} == {{"cpu", "cuda"}}
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_prepared_graphs_are_imported_by_who_makes_one() -> None:
    """Prepared graphs are a third of all modules and are imported only when one is used.

    A search on a prepared graph finds its methods in any order of imports.
    """
    program = """if True:
        import sys
        import nearfar
        from nearfar.choose.ranking import rank
        from nearfar.registry import Request
        graph = nearfar.Graph.from_edges([0, 1], [1, 2], [3, 4])
        assert nearfar.sssp(graph, 0, device="cpu").distances.tolist() == [0, 3, 7]
        assert not [name for name in sys.modules if name.startswith("nearfar.prepared.")]
        made = nearfar.prepare(graph, order=[0, 1, 2])
        ranked = rank(made, Request(device="cpu"))
        assert "elimination_tree@cpu" in {choice.variant.id for choice in ranked}
        assert nearfar.shortest_path(made, 0, 2) == ([0, 1, 2], 7)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr
