"""Device code lands only with a record of a real GPU run of exactly that code."""

from __future__ import annotations

import json

from tests.gpu.digest import VALIDATION, device_code_digest

HOW = "run `python -m tests.gpu.record` on a machine with a GPU and commit the file it writes"


def test_device_code_is_the_recorded_one() -> None:
    assert VALIDATION.exists(), f"{VALIDATION.name} is missing: {HOW}"
    record = json.loads(VALIDATION.read_text())
    assert record["complete"], f"the record is of a part of the suite: {HOW}"
    assert record["digest"] == device_code_digest(), f"device code changed since the record: {HOW}"


def test_every_recorded_gpu_test_passed() -> None:
    record = json.loads(VALIDATION.read_text())
    bad = {name for name, test in record["tests"].items() if test["outcome"] == "failed"}
    assert not bad
    assert record["exit_code"] == 0
    assert sum(test["outcome"] == "passed" for test in record["tests"].values()) > 100
    for tool in ("memcheck", "initcheck"):
        assert record["sanitizer"][tool]["errors"] == 0
        assert record["sanitizer"][tool]["solves"] > 50


def test_the_digest_sees_a_change(tmp_path, monkeypatch) -> None:
    from nearfar.system.devices import compiler

    before = device_code_digest()
    assert before == device_code_digest()
    (tmp_path / "kernel.cuh").write_text("// other")
    monkeypatch.setattr(compiler, "PACKAGE", tmp_path)
    assert device_code_digest() != before
