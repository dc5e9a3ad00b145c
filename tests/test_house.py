"""The house keeps its order: who may import whom, what an import costs, how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "nearfar"
# A room may import only rooms of a lower number; same-room imports are free.
FLOORS = {
    "cli": 9,
    "experiments": 8,
    "bench": 8,
    "networkx": 7,
    "csgraph": 7,
    "distributed": 7,
    "formats": 3,
    "generators": 3,
    "solve": 5,
    "many": 5,
    "choose": 4,
    "choose_cpu": 4,
    "algorithms": 3,
    "registry": 2,
    "paths": 2,
    "proof": 3,
    "options": 1,
    "graph": 1,
    "construct": 1,
    "adopt": 1,
    "statistics": 6,
    "statistics_report": 6,
    "negative_cycles": 2,
    "choose_cuda": 4,
    "choose_batch": 4,
    "choose_facts": 4,
    "choose_machine": 4,
    "calibrate": 6,
    "state": 1,
    "errors": 0,
}


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    """Absolute nearfar modules imported at run time (TYPE_CHECKING blocks do not count)."""
    found: set[str] = set()

    def walk(body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
                walk(statement.orelse)
                continue
            if isinstance(statement, ast.ImportFrom) and statement.module:
                if statement.module == "nearfar":
                    found.update(f"nearfar.{alias.name}" for alias in statement.names)
                else:
                    found.add(statement.module)
            elif isinstance(statement, ast.Import):
                found.update(alias.name for alias in statement.names)
            for field in ("body", "orelse", "finalbody"):
                walk(getattr(statement, field, []) or [])
            for handler in getattr(statement, "handlers", []):
                walk(handler.body)

    walk(ast.parse(path.read_text()).body)
    return {name for name in found if name.split(".")[0] == "nearfar"}


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_point_one_way(path: Path) -> None:
    relative = path.relative_to(PACKAGE)
    own = relative.parts[0].removesuffix(".py")
    if own not in FLOORS:
        return
    for name in imports(path):
        other = room(name)
        if own == "registry" and other == "algorithms":
            continue  # discovery: it imports whatever family is there, and names none
        if other in FLOORS and other != own:
            assert FLOORS[other] <= FLOORS[own], f"{relative} ({own}) imports {name}"


def test_a_family_never_imports_another_family() -> None:
    for path in FILES:
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] != "algorithms" or len(relative.parts) < 3:
            continue
        for name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["nearfar", "algorithms"] and len(parts) > 2:
                assert parts[2] == relative.parts[1], f"{relative} imports {name}"


def test_only_the_runtime_imports_cupy() -> None:
    for path in FILES:
        relative = str(path.relative_to(PACKAGE))
        for statement in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom):
                names = [statement.module or ""]
            for name in names:
                if name.split(".")[0] in ("cupy", "cupyx", "cupy_backends"):
                    assert relative == "cuda/runtime.py", f"{relative} imports {name}"


def test_import_is_light() -> None:
    code = (
        "import sys, nearfar; "
        "heavy = {'scipy', 'cupy', 'networkx', 'dask', 'matplotlib', 'pyarrow', 'pandas'}; "
        "heavy.add('numpy'); "
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_solve_does_not_import_scipy() -> None:
    code = (
        "import sys, nearfar; g = nearfar.Graph.from_edges([0], [1], [2]); "
        "print(nearfar.sssp(g, 0).distances.tolist(), 'scipy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[0, 2] False"


SOURCES = [
    p
    for pattern in ("*.py", "*.cpp", "*.hpp", "*.cuh")
    for top in ("src", "tests", "benchmarks", "scripts")
    for p in (ROOT / top).rglob(pattern)
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 450
