"""The layout of the package: who may import whom, what an import costs, what stands at the top."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

from nearfar.registry import variants

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "nearfar"
# From the ground up: a room imports only rooms of lower floors. What stands on one floor never
# meets. `registry` and `options` are what algorithms register with, so they lie below them; the
# registry finds the families by looking into their folder. The generators of the documentation lie
# in the laboratory's folder but on the last floor: they describe everything, and nothing imports
# them.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("_cpu", "errors"),
    ("options", "system"),
    ("graph",),
    ("formats", "generators", "registry"),
    ("cuda",),
    ("cpu",),
    ("algorithms",),
    ("prepared",),
    ("answer",),
    ("choose",),
    ("solve",),
    ("measures",),
    ("scale",),
    ("lab",),
    ("csgraph", "networkx", "sklearn", "torch"),
    ("cli",),
    ("lab.pages",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in FILES}


def imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, inside functions too.

    Imports under TYPE_CHECKING are left out: they never run.
    """
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES or alias.name == "_cpu" else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))
    return {name for name in found if name.split(".")[0] == "nearfar"}


@functools.cache
def all_imports() -> dict[str, set[str]]:
    """Who imports whom."""
    return {module_of(path): imports(path) - {module_of(path)} for path in FILES}


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The circles of a graph of imports, each from its first name on."""
    done: set[str] = set()
    found: list[list[str]] = []

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
        elif name not in done:
            for other in sorted(arrows.get(name, ())):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(arrows):
        visit(name, [])
    return found


def room_of(module: str) -> str:
    if module.startswith("nearfar.lab.pages"):
        return "lab.pages"
    return module.split(".")[1] if "." in module else ""


def test_imports_never_run_in_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c", "b"]]
    assert [" -> ".join(circle) for circle in circles(all_imports())] == []


def test_a_room_imports_only_lower_rooms() -> None:
    wrong = []
    for module, others in all_imports().items():
        here = room_of(module)
        if not here:
            continue  # the package's own file imports names lazily
        assert here in FLOOR, f"{module}: {here} has no floor, add it to the table"
        for other in others:
            there = room_of(other)
            if not there and FLOOR[here] >= FLOOR["scale"]:
                continue  # results, `doctor` and clusters name the version
            if there != here and FLOOR.get(there, len(FLOORS)) >= FLOOR[here]:
                wrong.append(f"{module} imports {other}")
            family = module.split(".")[:3], other.split(".")[:3]
            if here == there == "algorithms" and family[0] != family[1] and len(family[1]) == 3:
                wrong.append(f"{module} imports {other}: a family never imports another")
    assert wrong == []


def test_the_page_for_contributors_lists_all_rooms_from_the_top() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line[4:].partition("   ")[0] for line in page.splitlines() if line.startswith("    ")]
    rooms = [word.strip("/").removesuffix(".py") for row in rows for word in row.split()]
    rooms = [room for room in rooms if room in FLOOR]
    assert sorted(rooms) == sorted(set(FLOOR) - {"_cpu", "lab.pages"})
    assert [FLOOR[room] for room in rooms] == sorted((FLOOR[room] for room in rooms), reverse=True)


def test_nothing_new_stands_at_the_top() -> None:
    top = {path.name for path in PACKAGE.glob("*.py")}
    assert top == {"__init__.py", "errors.py", "options.py", "registry.py"}


def said(tree: ast.Module) -> list[tuple[int, str]]:
    """String constants that a program goes by: no docstrings, and no examples of commands."""
    shown: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            shown.add(id(node.value))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXAMPLES":
            shown.update(id(inner) for inner in ast.walk(node))
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in shown
    ]


def test_variants_are_named_at_home() -> None:
    """Ids in code stand in the variant's own family, in tests and in lab/, nowhere else."""
    home = {name: v.family for v in variants(unsafe=True) for name in (v.id, v.idea)}
    functions = {"csgraph", "networkx"}  # SciPy's and NetworkX's bear names of algorithms
    elsewhere = {
        "solve": {"lanes"},  # a counter in the statistics of a batch
        "options": {"lanes", "worker_per_source"},  # values of an option of Johnson's method
        # Sparse graphs are left to near-far as long as that is faster.
        "breadth_first": {"near_far", "near_far@cuda"},
        # Johnson's method offers the batch variants that may run inside it.
        "johnson": {"lanes", "worker_per_source", "block_per_source", "block_per_source_global"},
    }
    wrong = []
    for path in FILES:
        module = module_of(path)
        room = room_of(module)
        if room.startswith("lab"):
            continue
        where = module.split(".")[2] if room == "algorithms" and module.count(".") > 1 else room
        for line, text in said(ast.parse(path.read_text())):
            for name in {text, *re.findall(r"\w+@(?:cpu|cuda)", text)} & home.keys():
                fine = home[name] == where or name in elsewhere.get(where, ())
                if not fine and not (where in functions and "@" not in name):
                    wrong.append(f"{module}:{line}: {name}")
    assert wrong == []


def test_one_file_imports_cupy() -> None:
    importers = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if any(name.split(".")[0] in ("cupy", "cupyx", "cupy_backends") for name in names):
                importers.add(module_of(path))
    assert importers == {"nearfar.system.devices.cupy_module"}


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


def test_benchmarks_record_where_they_ran() -> None:
    """A number without machine, date and commit is not a measurement."""
    writers = 0
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        text = path.read_text()
        if "write_json(" in text:
            writers += 1
            assert "environment(" in text, path.name
    assert writers > 15


def test_no_object_edits_the_attributes_of_another() -> None:
    """`__dict__` is an object's own; what another keeps, it has a method for."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "__dict__":
                assert ast.unparse(node.value) == "self", f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Attribute) and node.attr == "_kept":
                own = ast.unparse(node.value) == "self" or path.name == "slots.py"
                assert own, f"{path.name}:{node.lineno}: a graph keeps things in slots"
