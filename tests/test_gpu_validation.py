"""Device code requires a record of a GPU run of exactly that code."""

from __future__ import annotations

import json

import pytest

from nearfar.system.devices import compiler
from tests.gpu.digest import VALIDATION, compiled, digest, fresh_modules
from tests.gpu.record import adopt

#: Launched without being observed, to keep the device busy while launches are queued.
UNSEEN = {"cuda/primitives/pause.cuh"}
HOW = "run `python -m tests.gpu.record` on a machine with a GPU and commit the file it writes"


def test_device_code_is_the_recorded_one() -> None:
    assert VALIDATION.exists(), f"{VALIDATION.name} is missing: {HOW}"
    record = json.loads(VALIDATION.read_text())
    stale = set(record["modules"]) - fresh_modules(record)
    assert not stale, f"kernels that these tests launched changed since the record: {HOW}"
    launched = {name for module in record["modules"].values() for name in module["kernels"]}
    assert launched | UNSEEN == set(compiler.kernel_files()), f"no test launched some: {HOW}"


def test_every_recorded_gpu_test_passed() -> None:
    record = json.loads(VALIDATION.read_text())
    bad = {name for name, test in record["tests"].items() if test["outcome"] == "failed"}
    assert not bad
    assert record["exit_code"] == 0
    assert sum(test["outcome"] == "passed" for test in record["tests"].values()) > 100
    assert record["sanitizer"]["digest"] == digest(compiler.kernel_files()), HOW
    for tool in ("memcheck", "initcheck"):
        assert record["sanitizer"][tool]["errors"] == 0
        assert record["sanitizer"][tool]["solves"] > 50


def test_the_digest_sees_a_change(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(compiler, "PACKAGE", tmp_path)
    seen = []
    for text in ("int one;", "int other;", None):
        path = tmp_path / "kernel.cuh"
        path.write_text(text) if text else path.unlink()
        seen.append(digest(["kernel.cuh"]))
        record = {"modules": {"test_x.py": {"kernels": ["kernel.cuh"], "digest": seen[0]}}}
        assert fresh_modules(record) == ({"test_x.py"} if len(seen) == 1 else set())
    assert len(set(seen)) == 3


def test_a_record_is_completed_by_another(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(compiler, "PACKAGE", tmp_path)
    monkeypatch.setattr(compiler, "kernel_files", lambda: ["a.cuh", "b.cuh"])
    for file in ("a.cuh", "b.cuh"):
        (tmp_path / file).write_text(f"int {file[0]};")

    def module(file: str) -> dict[str, object]:
        return {"kernels": [file], "digest": digest([file])}

    def outcomes(*names: str, outcome: str = "passed") -> dict[str, dict[str, str]]:
        return {name: {"outcome": outcome} for name in names}

    same = dict.fromkeys(("compute_capability", "driver_cuda", "cupy", "nvrtc"), 1)
    mine = {**same, "exit_code": 0, "sanitizer": {}, "modules": {"t_a.py": module("a.cuh")}}
    mine["tests"] = outcomes("t_a.py::one")
    clean = {tool: {"exit_code": 0} for tool in ("memcheck", "initcheck")}
    verdict = {"digest": digest(["a.cuh", "b.cuh"]), **clean}
    modules = {name: module("b.cuh") for name in ("t_b.py", "t_c.py")} | mine["modules"]
    other = {**same, "sanitizer": verdict, "modules": modules}
    other["tests"] = outcomes("t_b.py::one") | outcomes("t_c.py::one", outcome="failed")
    other["tests"] |= outcomes("t_a.py::one", "t_a.py::two")
    assert adopt(mine, other) == ["t_a.py", "t_b.py"]
    assert list(mine["tests"]) == ["t_a.py::one", "t_a.py::two", "t_b.py::one"]
    assert set(mine["modules"]) == {"t_a.py", "t_b.py"}
    assert mine["sanitizer"] == verdict
    assert adopt(mine, other) == []
    (tmp_path / "b.cuh").write_text("int changed;")
    assert adopt({**mine, "tests": {}, "modules": {}}, other) == ["t_a.py"]
    with pytest.raises(SystemExit, match="different"):
        adopt(mine, {**other, "cupy": 2})


def test_words_and_folders_do_not_make_a_record_stale() -> None:
    text = '// What.\n// requires: a/b.cuh\n// links: cudadevrt\nint a  = 1;  // one\nf("//x");\n'
    moved = '/* W.\n*/\n//requires: c/d/b.cuh\n// links: cudadevrt\nint a = 1;\n\nf("//x");'
    assert compiled(text) == compiled(moved)
    assert compiled(text).split("\n")[2:] == ["int a = 1;", 'f("//x");']
    for old, new in (("b.cuh", "c.cuh"), ("links", "lacks"), ("= 1", "= 2"), ("//x", "//y")):
        assert compiled(text.replace(old, new)) != compiled(text)
