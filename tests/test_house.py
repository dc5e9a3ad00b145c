"""The house keeps its order: who may import whom, what an import costs, how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "nearfar"
# A room may import only rooms of its own floor or a lower one. Device services and per-run state
# lie at the bottom, although the rest of their folder does not.
FLOORS = {
    "_cpu": 0,
    "dtypes": 0,
    "errors": 0,
    "memory": 0,
    "output": 0,
    "progress": 0,
    "state": 0,
    "cuda.compiler": 0,
    "cuda.launching": 0,
    "cuda.linking": 0,
    "cuda.nvrtc": 0,
    "cuda.runtime": 0,
    "adopt": 1,
    "construct": 1,
    "device_arrays": 1,
    "graph": 1,
    "on_threads": 1,
    "options": 1,
    "cuda": 2,
    "dense": 2,
    "negative_cycles": 2,
    "paths": 2,
    "registry": 2,
    "algorithms": 3,
    "formats": 3,
    "generators": 3,
    "proof": 3,
    "choose": 4,
    "choose_batch": 4,
    "choose_cpu": 4,
    "choose_cuda": 4,
    "choose_facts": 4,
    "choose_machine": 4,
    "multi_source": 4,
    "sinks": 4,
    "store": 4,
    "batch_run": 5,
    "many": 5,
    "solve": 5,
    "calibrate": 6,
    "isochrone": 6,
    "profile": 6,
    "report": 6,
    "statistics": 6,
    "statistics_report": 6,
    "tune": 6,
    "yen": 6,
    "csgraph": 7,
    "networkx": 7,
    "bench": 8,
    "experiments": 8,
    "cli": 9,
}


def room(module: str) -> str:
    """The room that a dotted module name lies in; the package itself is none."""
    parts = module.split(".")[1:3]
    return next(
        (name for name in (".".join(parts), *parts[:1]) if name in FLOORS), "".join(parts[:1])
    )


def imports(path: Path) -> set[str]:
    """Absolute nearfar modules imported at run time (TYPE_CHECKING blocks do not count)."""
    found: set[str] = set()

    def walk(body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
                walk(statement.orelse)
                continue
            if isinstance(statement, ast.ImportFrom) and statement.module:
                within = PACKAGE.joinpath(*statement.module.split(".")[1:])
                for alias in statement.names:
                    inner = (within / f"{alias.name}.py").exists() or (within / alias.name).is_dir()
                    found.add(f"{statement.module}.{alias.name}" if inner else statement.module)
            elif isinstance(statement, ast.Import):
                found.update(alias.name for alias in statement.names)
            for field in ("body", "orelse", "finalbody"):
                walk(getattr(statement, field, []) or [])
            for handler in getattr(statement, "handlers", []):
                walk(handler.body)

    walk(ast.parse(path.read_text()).body)
    return {name for name in found if name.split(".")[0] == "nearfar"}


FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(["nearfar", *(part for part in parts if part != "__init__")])


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_point_one_way(path: Path) -> None:
    own = room(module_of(path))
    if not own:
        return  # the package's own file imports names lazily
    assert own in FLOORS, f"{own} has no floor: add it to the table"
    for name in imports(path):
        other = room(name)
        if own == "registry" and other == "algorithms":
            continue  # discovery: it imports whatever family is there, and names none
        if other and other != own:
            assert FLOORS[other] <= FLOORS[own], f"{path.name} ({own}) imports {name}"


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


def test_benchmarks_record_where_they_ran() -> None:
    """A number without machine, date and commit is no measurement."""
    writers = 0
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        text = path.read_text()
        if "json.dumps" in text and "write_text" in text:
            writers += 1
            assert "environment(" in text, path.name
    assert writers > 5
