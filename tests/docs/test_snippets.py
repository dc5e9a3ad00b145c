"""Commands and snippets of the README, the tutorial-like pages and the how-to pages work.

The blocks of a page run from top to bottom in an empty folder: shell blocks and Python snippets in
order, with names shared by the snippets of a page, and sizes as in :data:`SMALLER`. Names that a
page assumes (``G``, CuPy arrays) are in :data:`GIVEN`, the reader's own files in
``snippet_files.py``. Blocks that do not run are in :data:`LEFT_OUT`, by text and with the reason.
If a page continues with "prints `...`", the snippet must have printed that.
"""

from __future__ import annotations

import lzma
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar.cli.main import main
from nearfar.generators import generate
from tests.datafiles import data_path
from tests.snippet_files import map_extract, snippet_files

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = "docs/how-to/"
PAGES = [
    "README.md",
    "docs/explanation/choosing.md",
    "docs/explanation/compound-frontiers.md",
    "docs/tutorials/first-map.md",
    *sorted(str(p.relative_to(ROOT)) for p in (ROOT / HOW_TO).glob("*.md")),
]

#: Text of a block or of a command line -> reason why it does not run in tests.
LEFT_OUT = {
    "11 * 2**20": "graphs of the papers' largest sizes take minutes and gigabytes",
    'nearfar.sssp(\n    graph, 0, method="crauser_successors@cuda"': "needs a GPU",
    "crauser_successors": "measures launch shapes: needs a GPU",
    "nearfar tune graph.nfg": "measures launch shapes: needs a GPU",
    'method="two_cost_arrays"': "needs a GPU to go wrong on",
    "nearfar bench peers": "half a minute and more; tests/lab/test_bench.py runs it small",
    "pip install": "installs packages",
    "register-python-argcomplete": "in an interactive shell; see tests/cli/test_shell.py",
    "reports whether the GPU is found": "asks for a real one, not the emulated one",
    "apt install": "installs packages",
    "@cuda --kernels": "needs a GPU",
    "from nearfar.cuda.kernel_times": "needs a GPU",
    "make demo": "downloads nothing, but compiles; tests/answer/test_isochrone_and_demo.py runs it",
    ". .venv/bin/activate": "the environment is there",
    "nearfar experiment martin-2009": "minutes; tests/lab/test_experiments.py runs one",
    "nearfar experiment ortega": "minutes of a GPU",
    'experiments.run("martin-2009"': "minutes; tests/lab/test_experiments.py runs one",
    "nearfar report martin": "of the experiment that is left out",
    "nearfar experiment davidson": "minutes; the folder is there",
    "nearfar generate road_like -o": "a graph of a million vertices, for a GPU",
    "nearfar generate uniform_random -o": "a graph of twenty million edges, for a GPU",
}
#: Text of a page -> replacement that makes the test fast.
SMALLER = {
    "--vertices 100000": "--vertices 2000",
    "vertices=100_000": "vertices=2_000",
    "vertices=50_000": "vertices=200",
    "--scale 20": "--scale 8",
    "scale=20": "scale=8",
    "--rows 1000 --columns 1000": "--rows 50 --columns 50",
    'generate("road_like")': 'generate("road_like", vertices=2_000)',
    # Vertices of the map that map_extract makes.
    "189442111": "1",
    "401357766": "4",
}
#: Pages with code for a GPU, which runs on the emulated one.
EMULATED = {HOW_TO + "coming-from-cugraph.md", HOW_TO + "use-a-gpu.md"}
BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```(?:\n\nprints `([^`]*)`)?", re.DOTALL | re.M)


def left_out(text: str) -> bool:
    """Return whether a block is in LEFT_OUT."""
    return any(part in text for part in LEFT_OUT)


def steps(page: str) -> list[tuple[str, str, str]]:
    """Return kind, text and expected output of the blocks of a page, without omitted ones.

    Continued lines of a shell are joined and prompts removed.
    """
    found = []
    for kind, body, printed in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if kind == "python":
            kept = "" if left_out(body) else body
        else:
            lines = [line.removeprefix("$ ") for line in body.replace("\\\n", " ").splitlines()]
            kept = "\n".join(line for line in lines if line.strip() and not left_out(line))
        for large, small in SMALLER.items():
            kept = kept.replace(large, small)
        if kept:
            found.append((kind, kept, printed))
    return found


WALKED = [page for page in PAGES if steps(page)]


@pytest.fixture(autouse=True)
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return a folder with the files that the pages name, and a separate cache."""
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    snippet_files(tmp_path)


def grid() -> Any:
    return generate("grid", rows=40, columns=40, missing=0)


def networkx_graph() -> dict[str, Any]:
    nx = pytest.importorskip("networkx")
    graph = nx.gnm_random_graph(1000, 5000, seed=1, directed=True)
    return {"G": graph, "s": 0}


def igraph_graph() -> dict[str, Any]:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph.Erdos_Renyi(n=100, m=400)
    graph.es["weight"] = np.arange(400.0)
    return {"g": graph}


def device_arrays() -> dict[str, Any]:
    from nearfar.system.devices.runtime import upload

    graph = grid()
    arrays = {name: upload(getattr(graph, name)) for name in ("indptr", "indices", "weights")}
    named = {f"cupy_{name}": array for name, array in arrays.items()}
    return {**arrays, **named, "matrix": upload(graph.to_scipy().toarray())}


#: Page -> names that its snippets assume.
GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    HOW_TO + "coming-from-networkx.md": networkx_graph,
    HOW_TO + "coming-from-igraph.md": igraph_graph,
    HOW_TO + "coming-from-cugraph.md": device_arrays,
    HOW_TO + "use-a-gpu.md": device_arrays,
}
#: Page -> packages that its snippets import or need.
NEEDS = {
    HOW_TO + "draw-maps.md": ("osmium", "matplotlib"),
    HOW_TO + "coming-from-scipy.md": ("sklearn",),
    HOW_TO + "find-shortest-paths.md": ("pandas",),
    HOW_TO + "measure.md": ("networkit",),
    HOW_TO + "read-and-write-graphs.md": ("osmium",),
    "docs/tutorials/first-map.md": ("osmium", "matplotlib"),
}
#: Page -> real files that it needs.
FILES = {
    HOW_TO + "assign-traffic.md": [
        f"tntp/SiouxFalls_{kind}.tntp.xz" for kind in ("net", "trips", "flow")
    ],
}


@pytest.fixture
def unpatched() -> Iterator[None]:
    """Restore changes of snippets in other libraries."""
    from scipy.sparse.csgraph import shortest_path

    nx = sys.modules.get("networkx")
    kept = list(nx.config.backend_priority.algos) if nx is not None else []
    yield
    if nx is not None:
        nx.config.backend_priority.algos = kept
    if "sklearn.manifold._isomap" in sys.modules:
        sys.modules["sklearn.manifold._isomap"].shortest_path = shortest_path  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", WALKED)
@pytest.mark.usefixtures("unpatched")
@pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")
def test_a_walk_through(
    page: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for package in NEEDS.get(page, ()):
        pytest.importorskip(package)
    for name in FILES.get(page, ()):
        there = data_path(name)
        Path(there.stem).write_bytes(lzma.decompress(there.read_bytes()))
    if page in EMULATED:
        request.getfixturevalue("emulated_gpu")
        from nearfar.system.devices import runtime

        monkeypatch.setitem(sys.modules, "cupy", runtime.cupy())
    if "osmium" in NEEDS.get(page, ()):
        map_extract(Path("helsinki.osm.pbf"))
        Path(".cache/demo").mkdir(parents=True)
        map_extract(Path(".cache/demo/Helsinki.osm.pbf"))
    names = GIVEN.get(page, dict)()
    for kind, body, printed in steps(page):
        capfd.readouterr()
        if kind != "python":
            in_the_shell(body, capfd)
            continue
        exec(compile(body, page, "exec"), names)
        if printed:
            assert capfd.readouterr().out.strip() == printed


def in_the_shell(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Run nearfar's commands in this process and others by bash; each must print something."""
    lines = [shlex.split(line, comments=True) for line in script.splitlines()]
    plain = all(words[:1] == ["nearfar"] and not {"|", ">"} & {*words} for words in lines)
    if not plain:
        in_a_shell(script)
        return
    for line, (_, *words) in zip(script.splitlines(), lines, strict=True):
        quick = [*words, "--rounds", "1"] if words == ["tune"] else words
        promised = re.search(r"# exit code (\d+)", line)
        expected = (int(promised[1]),) if promised else (0,)
        # 8 is doctor's exit code for a missing optional package or GPU.
        assert run(quick) in ((0, 8) if words[0] == "doctor" else expected), words
        assert capfd.readouterr().out


def run(words: list[str]) -> int:
    """Return the program's exit code, also for --help."""
    try:
        return int(main(words))
    except SystemExit as left:
        return int(left.code or 0)


def in_a_shell(script: str) -> None:
    """Run a script by bash, with this Python's programs first; a failing part fails the test."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        env={**os.environ, "PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_what_is_left_out_is_still_there() -> None:
    """Entries of LEFT_OUT must occur on a page, and must not omit a whole page."""
    found = {page: BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) for page in PAGES}
    text = "".join(body for blocks in found.values() for _, body, _ in blocks)
    assert [part for part in (*LEFT_OUT, *SMALLER) if part not in text] == []
    for page in (p for p in PAGES if "coming-from" in p):
        code = [body for kind, body, _ in found[page] if kind == "python"]
        assert code == [body for kind, body, _ in steps(page) if kind == "python"] != []
