"""Kernels that launch kernels: found, linked or refused with a message, without a GPU."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

import nearfar
from nearfar.errors import KernelCompileError, OptionError, VariantUnavailable
from nearfar.graph.graph import Graph
from nearfar.registry import Request, registered
from nearfar.system.devices import compiler, linking, runtime

METHOD = "bellman_ford_child_launches@cuda"
FILE = "papers/johnson_apsp/bellman_ford/child_launches.cuh"


class DriverError(RuntimeError):
    """Error of the pretended driver."""


def pretended_cupy(*, refuses: bool) -> tuple[types.SimpleNamespace, list[str]]:
    """Return a driver that records what it should link."""
    calls: list[str] = []

    def complete(_state: int) -> bytes:
        if refuses:
            raise DriverError("undefined reference")
        return b"linked"

    driver = types.SimpleNamespace(
        CUDADriverError=DriverError,
        linkCreate=lambda: 7,
        linkAddData=lambda _state, kind, code, name: calls.append(f"{kind} {code!r} {name}"),
        linkAddFile=lambda _state, kind, path: calls.append(f"{kind} {path}"),
        linkComplete=complete,
        linkDestroy=lambda _state: calls.append("destroyed"),
    )
    return types.SimpleNamespace(cuda=types.SimpleNamespace(driver=driver)), calls


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Provide a folder with a file of the library's name, and search only this folder."""
    file = tmp_path / "libcudadevrt.a"
    file.write_bytes(b"!<arch>\n")
    monkeypatch.setattr(linking, "_folders", lambda: iter([tmp_path / "none", tmp_path]))
    linking.device_runtime.cache_clear()
    yield file
    linking.device_runtime.cache_clear()


def test_the_library_is_found_and_linked_after_the_code(library: Path) -> None:
    cupy, calls = pretended_cupy(refuses=False)
    assert linking.link(cupy, "k.cuh", b"code") == b"linked"
    assert calls == ["0 b'code' k.cuh", f"4 {library}", "destroyed"]


def test_a_failed_link_names_the_kernel_and_frees_the_state(library: Path) -> None:
    cupy, calls = pretended_cupy(refuses=True)
    with pytest.raises(KernelCompileError, match=r"k\.cuh cannot be linked.*undefined reference"):
        linking.link(cupy, "k.cuh", b"code")
    assert calls[-1] == "destroyed"


def test_a_missing_library_says_what_to_install(library: Path) -> None:
    library.unlink()
    with pytest.raises(VariantUnavailable, match="pip install nvidia-cuda-runtime"):
        linking.device_runtime()


def test_where_the_library_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libcudadevrt.a").write_bytes(b"")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    assert tmp_path / "lib" in list(linking._folders())


@pytest.mark.usefixtures("emulated_gpu")
def test_can_run_says_why_not() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [5, -2])
    variant = registered(METHOD)
    assert variant is not None
    assert variant.can_run(graph, Request()) == runtime.can_link() != True  # noqa: E712
    with pytest.raises(VariantUnavailable, match="device-side launches cannot be linked"):
        nearfar.sssp(graph, 0, method=METHOD)


def test_only_files_that_ask_are_relocatable() -> None:
    flag = "--relocatable-device-code=true"
    asking = [
        name
        for name in compiler.kernel_files()
        if compiler.is_relocatable(compiler.assemble([name]))
    ]
    assert asking == [FILE]
    assert flag in compiler.options_for("sm_90", {}, compiler.assemble([FILE]))
    queue = compiler.assemble(["algorithms/bellman_ford/queue.cuh"])
    assert flag not in compiler.options_for("sm_90", {}, queue)


def test_least_edges_is_checked() -> None:
    variant = registered(METHOD)
    assert variant is not None
    with pytest.raises(OptionError, match="child_edges is 0"):
        variant.options(child_edges=0)
