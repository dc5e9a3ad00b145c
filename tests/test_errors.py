"""Errors survive pickling, and quote at most a line of a long value."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import errors
from nearfar.csgraph.rows import NegativeCycleError as ScipyLikeNegativeCycleError
from nearfar.errors import NearfarError, quoted

#: Arguments of classes that take more than a message.
ARGUMENTS: dict[type[NearfarError], tuple[Any, ...]] = {
    errors.GraphFormatError: ("the line ends before the weight", "roads.gr", 7),
    errors.NegativeWeightError: (3, 2, ("bellman_ford@cpu", "johnson@cpu")),
    errors.NegativeCycleError: ([0, 4, 2], -1.5),
    ScipyLikeNegativeCycleError: ([0, 4, 2], -1.5),
    errors.OutOfMemoryError: (3 << 30, 1 << 30, "use threads=1"),
}
CLASSES = [
    *(c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, NearfarError)),
    ScipyLikeNegativeCycleError,
]


def made(cls: type[NearfarError]) -> NearfarError:
    error = cls(*ARGUMENTS.get(cls, ("what is wrong",)))
    error.add_note("seen in a worker")
    return error


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_pickle(cls: type[NearfarError], protocol: int) -> None:
    """Regression: unpickling a NegativeWeightError raised a TypeError."""
    error = made(cls)
    for found in (pickle.loads(pickle.dumps(error, protocol)), copy.deepcopy(error)):
        assert type(found) is cls
        assert str(found) == str(error)
        assert found.args == error.args
        assert vars(found) == vars(error)
        assert getattr(found, "msg", None) == getattr(error, "msg", None)  # ImportError's own


def raise_one(cls: type[NearfarError]) -> None:
    raise made(cls)


def test_a_pool_delivers_errors() -> None:
    """Regression: an error that does not unpickle blocked the caller of a process pool."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for cls in (errors.NegativeWeightError, errors.NegativeCycleError):
            with pytest.raises(cls) as found:
                pool.apply_async(raise_one, (cls,)).get(timeout=60)
            assert str(found.value) == str(made(cls))


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("delta", "'delta'"),
        ("a\nb\0\x1b[2J", r"'a\nb\x00\x1b[2J'"),
        (b"p sp", "b'p sp'"),
        ("x" * 81, "'" + "x" * 80 + "'..."),
        (None, "None"),
        ([1] * 100, "[" + "1, " * 26 + "1..."),
        (np.zeros((2, 2)), "array([[0., 0.], [0., 0.]])"),
        pytest.param(10**5000, "an integer of 16610 bits", id="long"),  # str() refuses
        (Unprintable(), "<Unprintable>"),
        (np.int64(7), "7"),
        (np.str_("x"), "'x'"),
    ],
)
def test_quoted(token: object, shown: str) -> None:
    assert quoted(token) == shown


BIG = "x" * 5000
GRAPH = nearfar.Graph.from_edges([0], [1], [2.0])
NAMED = nearfar.Graph.from_edges([0], [1], [2.0], vertex_names=["a", "b"], names=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nearfar.sssp(GRAPH, 10**5000),
        lambda: nearfar.sssp(GRAPH, BIG),
        lambda: nearfar.sssp(GRAPH, [0] * 3000),
        lambda: nearfar.sssp(NAMED, BIG),
        lambda: nearfar.sssp(NAMED, "a", targets=[BIG]),
        lambda: nearfar.sssp(GRAPH, 0, method=BIG),
        lambda: nearfar.sssp(GRAPH, 0, device=BIG),
        lambda: nearfar.sssp(GRAPH, 0, threads=BIG),
        lambda: nearfar.sssp(GRAPH, 0, limit=BIG),
        lambda: nearfar.sssp(GRAPH, 0, limit=-(10**5000)),
        lambda: nearfar.sssp(GRAPH, 0, **{BIG: 1}),
        lambda: nearfar.sssp(GRAPH, 0, method="delta_stepping@cpu", delta=BIG),
        lambda: nearfar.distances(GRAPH, [0], reduce=BIG),
        lambda: nearfar.distances(NAMED, [BIG]),
        lambda: nearfar.distances(GRAPH, [0], out=BIG),
        lambda: nearfar.k_shortest_paths(GRAPH, 0, 1, 10**5000),
        lambda: nearfar.shortest_path(NAMED, "a", BIG),
        lambda: nearfar.read("x.gr", format=BIG),
        lambda: nearfar.generate(BIG),
        lambda: nearfar.generate("grid", **{BIG: 1}),
    ],
)
def test_messages_quote_little(call: Callable[[], object]) -> None:
    """A name of a megabyte must not make a message of a megabyte; str(10**5000) raises an error."""
    with pytest.raises(NearfarError) as found:
        call()
    assert len(str(found.value)) < 450


def test_a_limit_beyond_every_number() -> None:
    assert nearfar.sssp(GRAPH, 0, limit=10**5000).distances.tolist() == [0, 2]
