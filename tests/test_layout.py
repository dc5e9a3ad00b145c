"""Layout of the package: allowed imports, cost of an import, top-level files."""

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
# From the bottom: a folder imports only folders of lower layers, and none of its own layer.
# Algorithms register with `registry` and `options`, so these are below them; the registry finds
# families of variants, and lab/experiments the papers, by searching their folders.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_cpu", "errors"),
    ("options", "system"),
    ("graph",),
    ("formats", "generators", "registry"),
    ("cuda",),
    ("cpu",),
    ("algorithms", "raster"),
    ("prepared",),
    ("answer",),
    ("choose",),
    ("solve",),
    ("measures",),
    ("scale",),
    ("lab",),
    ("papers",),
    ("csgraph", "networkx", "sklearn", "torch"),
    ("cli",),
)
LAYER = {folder: layer for layer, folders in enumerate(LAYERS) for folder in folders}
FILES = sorted(PACKAGE.rglob("*.py"))
PAPERS = [path.parent for path in (PACKAGE / "papers").glob("*/__init__.py")]


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in FILES}


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, wherever the import is."""
    found: set[str] = set()
    waiting: list[ast.AST] = [parsed(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES or alias.name == "_cpu" else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        # No import is inside an expression, which most nodes are.
        children = ast.iter_child_nodes(node)
        waiting.extend(child for child in children if not isinstance(child, ast.expr))
    return {name for name in found if name.split(".")[0] == "nearfar"}


@functools.cache
def all_imports() -> dict[str, set[str]]:
    """Return the imports of every module."""
    return {module_of(path): imports(path) - {module_of(path)} for path in FILES}


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return the cycles of a graph of imports, each from its first name on."""
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


def folder_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_imports_never_run_in_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c", "b"]]
    # Exceptions: two classes whose methods call functions in their folder that name the classes.
    owners = {"nearfar.graph.graph", "nearfar.prepared.prepared"}
    without = {name: others - owners for name, others in all_imports().items()}
    assert [" -> ".join(circle) for circle in circles(without)] == []
    tangled = {name.split(".")[1] for circle in circles(all_imports()) for name in circle}
    assert tangled == {"graph", "prepared"}


def test_a_folder_imports_only_lower_folders() -> None:
    wrong = []
    for module, others in all_imports().items():
        here = folder_of(module)
        if here in ("", "__main__"):
            continue  # the package's __init__ imports names lazily; __main__ is the program
        assert here in LAYER, f"{module}: {here} has no layer, add it to the table"
        for other in others:
            there = folder_of(other)
            if not there and LAYER[here] >= LAYER["scale"]:
                continue  # results, `doctor` and clusters name the version
            if there != here and LAYER.get(there, len(LAYERS)) >= LAYER[here]:
                wrong.append(f"{module} imports {other}")
            family = module.split(".")[:3], other.split(".")[:3]
            apart = family[0] != family[1] and len(family[1]) == 3
            if module.startswith("nearfar.papers.beyond."):
                continue  # `beyond` measures on the other papers' graphs
            if here == there and here in ("algorithms", "papers") and apart:
                wrong.append(f"{module} imports {other}: a family or paper never imports another")
    assert wrong == []


def test_the_page_for_contributors_lists_all_folders_from_the_top() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line[4:].partition("   ")[0] for line in page.splitlines() if line.startswith("    ")]
    names = [word.strip("/").removesuffix(".py") for row in rows for word in row.split()]
    names = [name for name in names if name in LAYER]
    assert sorted(names) == sorted(set(LAYER) - {"_cpu"})
    assert [LAYER[name] for name in names] == sorted((LAYER[n] for n in names), reverse=True)


def test_nothing_new_stands_at_the_top() -> None:
    top = {path.name for path in PACKAGE.glob("*.py")}
    assert top == {"__init__.py", "__main__.py", "errors.py", "options.py", "registry.py"}


def said(tree: ast.Module) -> list[tuple[int, str]]:
    """Yield string constants of a program except docstrings and examples of commands."""
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


def family_of(module: str) -> str:
    """Return the family of variants that a module belongs to, or its folder."""
    parts, at = module.split("."), {"algorithms": 2, "papers": 3}.get(folder_of(module), 1)
    return parts[at] if len(parts) > at else folder_of(module)


def test_variants_are_named_at_home() -> None:
    """Ids occur only in the variant's own family, in papers, tests and lab/."""
    home: dict[str, set[str]] = {}
    for v in variants(unsafe=True):
        home.setdefault(v.id, set()).add(v.family)
        home.setdefault(v.idea, set()).add(v.family)
    functions = {"csgraph", "networkx"}  # functions of SciPy and NetworkX have names of algorithms
    elsewhere = {
        # A counter in the statistics of a batch; values of an option of Johnson's method.
        "solve": {"lanes", "worker_per_source"},
        # Breadth-first search leaves sparse graphs to near-far while that is faster.
        "breadth_first": {"near_far", "near_far@cuda"},
        # Johnson's method lists the variants that may run inside it.
        "johnson": {
            *("lanes", "worker_per_source", "block_per_source", "block_per_source_global"),
            *("delta_stepping", "goldberg_radzik"),
        },
    }
    wrong = []
    for path in FILES:
        module = module_of(path)
        where = family_of(module)
        if folder_of(module).startswith("lab") or path.parent in PAPERS:
            continue
        for line, text in said(parsed(path)):
            for name in {text, *re.findall(r"\w+@(?:cpu|cuda)", text)} & home.keys():
                fine = where in home[name] or name in elsewhere.get(where, ())
                if not fine and not (where in functions and "@" not in name):
                    wrong.append(f"{module}:{line}: {name}")
    assert wrong == []


def test_a_variant_without_a_cost_belongs_to_a_paper() -> None:
    """Variants in ``algorithms/`` have costs; others belong to papers and run only by name."""
    named = {
        "tarjan_subtree@cpu",  # decides for other forms whether a cycle is negative
        "near_far_partitioned@cuda",  # runs only if several devices are named
    }
    for v in variants(unsafe=True):
        in_paper = v.run.__module__.startswith("nearfar.papers.")
        baseline = v.id in named or v.family == "dijkstra"
        assert in_paper == (v.cost is None and not baseline), v.id


def test_a_search_imports_no_paper() -> None:
    code = (
        "import sys, nearfar; g = nearfar.Graph.from_edges([0, 1], [1, 2], [2, 3]); "
        "nearfar.sssp(g, 0); nearfar.distances(g, [0, 1]); "
        "print([name for name in sys.modules if name.startswith('nearfar.papers')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_no_folder_is_too_large_to_hold_in_mind() -> None:
    for folder in sorted({path.parent for path in PACKAGE.rglob("*.*") if path.is_file()}):
        suffixes = (".py", ".cpp", ".hpp", ".cuh")
        files = [path for path in folder.iterdir() if path.suffix in suffixes]
        assert len(files) <= 22, folder.relative_to(PACKAGE).as_posix()


def test_one_file_imports_cupy() -> None:
    importers = set()
    for path in FILES:
        for node in ast.walk(parsed(path)):
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


def test_no_object_edits_the_attributes_of_another() -> None:
    """Only an object itself accesses its ``__dict__``."""
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and node.attr == "__dict__":
                assert ast.unparse(node.value) == "self", f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Attribute) and node.attr == "_kept":
                own = ast.unparse(node.value) == "self" or path.name == "slots.py"
                assert own, f"{path.name}:{node.lineno}: a graph keeps things in slots"
