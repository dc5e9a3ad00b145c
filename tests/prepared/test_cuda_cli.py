"""Prepared graphs on the emulated device, from a shell and from ``prepare``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar.cli.console import Exit
from nearfar.cli.machine.doctor import _self_test
from nearfar.errors import GraphError, OptionError
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.prepared.cuda.metric.metric import DeviceMetric
from nearfar.prepared.variants_cuda import _first as prepare_first_seconds
from nearfar.registry import Request
from nearfar.solve.many import distances
from nearfar.system.devices import runtime
from tests.prepared.test_queries import mesh
from tests.program import fail, succeed

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.mark.parametrize("perfect", [True, False])
def test_prepare_on_the_device(perfect: bool) -> None:
    graph = mesh(12)
    found = nearfar.prepare(graph, device="cuda", perfect=perfect)
    wanted = nearfar.prepare(graph, perfect=perfect)
    assert isinstance(found.metric, DeviceMetric)
    assert not found.on_device
    assert "customization" in found.seconds
    np.testing.assert_array_equal(found.metric.weights, wanted.metric.weights)
    np.testing.assert_array_equal(found.metric.up.weight, wanted.metric.up.weight)
    rows = distances(found, range(40), device="cuda")
    np.testing.assert_array_equal(rows, distances(wanted, range(40), device="cpu"))


def test_prepare_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="device is"):
        nearfar.prepare(mesh(3), device="tpu")  # type: ignore[arg-type]
    negative = Graph.from_edges([0, 1], [1, 2], [0.5, -0.25])
    with pytest.raises(GraphError, match="edge 1 has a negative float weight"):
        nearfar.prepare(negative, device="cuda")


def test_commands(tmp_path: Path) -> None:
    nearfar.write(mesh(12), tmp_path / "mesh.gr")
    made = str(tmp_path / "mesh.nfp")
    told = json.loads(
        succeed("prepare", str(tmp_path / "mesh.gr"), "-o", made, "--device", "cuda", "--json")
    )
    assert "arcs to the device" in told["seconds"]
    by_cpu = str(tmp_path / "cpu.nfp")
    succeed("prepare", str(tmp_path / "mesh.gr"), "-o", by_cpu, "--quiet")
    assert Path(made).read_bytes() == Path(by_cpu).read_bytes()
    for words in (
        ("--source", "1", "2", "--target", "9", "140"),
        ("--pair", "1", "140", "--pair", "7", "3"),
        ("--reduce", "mean"),
    ):
        found = json.loads(succeed("distances", made, *words, "--device", "cuda", "--json"))
        wanted = json.loads(succeed("distances", made, *words, "--device", "cpu", "--json"))
        same = ("values", "pairs", "distances")
        assert {k: found[k] for k in same if k in found} == {
            k: wanted[k] for k in same if k in wanted
        }
        assert any(k in found for k in same), sorted(found)


def test_devices_from_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 2)
    nearfar.prepare(mesh(12)).save(tmp_path / "mesh.nfp")
    words = ["distances", str(tmp_path / "mesh.nfp"), "--source", "1", "5", "9", "--json"]
    method = ["--method", "elimination_tree_rows@cuda"]
    found = json.loads(succeed(*words, *method, "--devices", "0,1"))
    wanted = json.loads(succeed(*words, "--device", "cpu"))
    assert found["values"] == wanted["values"]
    assert "there are 2" in fail(Exit.USAGE, *words, *method, "--devices", "2")


def test_doctor_prepares_a_graph_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _self_test()["cuda"]["passed"] is True

    def wrong(*_: object, **__: object) -> np.ndarray:
        return np.ones((3, 2000), dtype=np.int32)

    monkeypatch.setattr(nearfar, "distances", wrong)
    assert "prepared graph are wrong" in _self_test()["cuda"]["reason"]


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_preparing_first_takes_time_whatever_the_threads(threads: int) -> None:
    """A GPU's profile has no gain of workers, which must not make an estimate zero or less."""
    graph = mesh(60)
    request = Request(problem="batch", n_sources=1 << 20, device="cuda", threads=threads)
    found = prepare_first_seconds(Facts(graph, gain=0.0), request)
    assert found is not None
    assert 0 < found.seconds < math.inf
