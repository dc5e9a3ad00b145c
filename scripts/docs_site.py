"""Extensions of mkdocs: pages from outside docs/, notebooks with outputs, the order of pages.

The texts stay at their places in the repository; the site gets copies with adjusted links.
Notebooks are stored without outputs and are run in a separate process, as their tests run them. The
order of the pages is that of docs/index.md. mkdocs calls the functions named ``on_...`` (see
``hooks`` in mkdocs.yml).
"""

from __future__ import annotations

import base64
import json
import os
import posixpath
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]

#: Places in the site of pages from outside docs/, and of the list of all pages.
OUTSIDE = {
    "README.md": "index.md",
    "docs/index.md": "all-pages.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
_TABS = (
    ("Tutorials", "tutorials"),
    ("How to", "how-to"),
    ("Reference", "reference"),
    ("Explanation", "explanation"),
    ("Reproduction", "reproduction"),
    ("Project", "project"),
)
_LINK = re.compile(r"(!?\[[^\]]*\]\(|<img [^>]*src=\")([^)\s\"]+)")
_RUNNER = """
import ast, contextlib, io, json, sys
cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
names, said = {"__name__": "__main__"}, []
from pathlib import Path
for at, cell in enumerate(cells):
    if cell["cell_type"] != "code":
        said.append(None)
        continue
    out = io.StringIO()
    before = {p: p.stat().st_mtime_ns for p in Path(sys.argv[2]).glob("*.png")}
    with contextlib.redirect_stdout(out):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {at}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {at}", "eval"), names)
            if value is not None:
                print(repr(value))
    after = {p: p.stat().st_mtime_ns for p in Path(sys.argv[2]).glob("*.png")}
    new = sorted(str(p) for p in after if after[p] != before.get(p))
    said.append({"text": out.getvalue(), "pictures": new})
json.dump(said, open(sys.argv[3], "w", encoding="utf-8"))
"""


def turned(text: str, here: str, there: str, places: dict[str, str]) -> str:
    """Return a page's text with its links adjusted to another place.

    Parameters
    ----------
    text : str
    here : str
        Path of the page in the repository.
    there : str
        Path of the page in the site.
    places : dict of str to str
        Files of the repository -> pages of the site. A link to any other file of the repository
        becomes its text.
    """

    def turn(found: re.Match[str]) -> str:
        head, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        name, hash_mark, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(here), name))
        if file not in places:
            return found[0]
        return f"{head}{posixpath.relpath(places[file], posixpath.dirname(there) or '.')}" + (
            f"{hash_mark}{anchor}"
        )

    def plain(found: re.Match[str]) -> str:
        """Return the words of a link without a target in the site."""
        file = posixpath.normpath(posixpath.join(posixpath.dirname(here), found[2].split("#")[0]))
        gone = not re.match(r"[a-z]+:|#", found[2]) and file not in places
        return found[1] if gone else found[0]

    fences = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(fences), 2):
        kept = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", plain, fences[at])
        fences[at] = _LINK.sub(turn, kept)
    return "".join(fences)


def site_places(docs: list[str]) -> dict[str, str]:
    """Return the pages or pictures of the site by their files in the repository."""
    found = {f"docs/{name}": re.sub(r"\.ipynb$", ".md", name) for name in docs}
    return {**found, **OUTSIDE}


def notebook_page(file: Path, run: Callable[[Path], list[Any]]) -> str:
    """Return a notebook as Markdown, each code cell with its printed and drawn output."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell, said in zip(cells, run(file), strict=True):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        if said["text"].strip():
            parts.append(f"```text\n{said['text'].rstrip()}\n```")
        for picture in said["pictures"]:
            parts.append(f"![picture drawn by the cell](data:image/png;base64,{picture})")
    return "\n\n".join(parts) + "\n"


def outputs(file: Path) -> list[Any]:
    """Run a notebook; return per cell None, or its printed text and new pictures in base64."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "said.json"
        drawn = Path(folder) / "drawn"
        drawn.mkdir()
        subprocess.run(
            [sys.executable, "-c", _RUNNER, str(file), str(drawn), str(result)],
            check=True,
            cwd=folder,
            env={**os.environ, "NEARFAR_NOTEBOOK_OUTPUT": str(drawn)},
        )
        found: list[Any] = json.loads(result.read_text(encoding="utf-8"))
        for said in found:
            if said is not None:
                raw = [Path(name).read_bytes() for name in said["pictures"]]
                said["text"] = said["text"].replace(f"{drawn}{os.sep}", "")
                said["pictures"] = [base64.b64encode(data).decode() for data in raw]
        return found


def title_of(text: str) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def navigation(pages: dict[str, str]) -> list[Any]:
    """Return the tabs and pages of the site; ``pages`` has their texts."""
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    listed = [posixpath.splitext(name)[0] for name in re.findall(r"\]\(([^)]+)\)", index)]

    def order(name: str) -> tuple[int, str]:
        stem = posixpath.splitext(name)[0]
        return (listed.index(stem) if stem in listed else len(listed), title_of(pages[name]))

    found: list[Any] = [{"Home": "index.md"}]
    for title, folder in _TABS:
        inside = sorted((name for name in pages if name.startswith(folder + "/")), key=order)
        found.append({title: [{title_of(pages[name]).replace("`", ""): name} for name in inside]})
    found.append({"All pages": "all-pages.md"})
    return found


def on_files(files: Any, config: Any) -> Any:
    """Add pages from outside docs/ and notebooks, and order all pages."""
    from mkdocs.structure.files import File

    places = site_places([file.src_uri for file in files])
    files.remove(files.get_file_from_path("index.md"))  # replaced by README
    pages = {f.src_uri: f.content_string for f in files if f.src_uri.endswith(".md")}
    for here, there in OUTSIDE.items():
        pages[there] = turned((ROOT / here).read_text(encoding="utf-8"), here, there, places)
        files.append(File.generated(config, there, content=pages[there]))
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            files.remove(file)
            name = places[f"docs/{file.src_uri}"]
            pages[name] = notebook_page(Path(file.abs_src_path), outputs)
            files.append(File.generated(config, name, content=pages[name]))
    config["nav"] = navigation(pages)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Adjust links of docs/ that lead outside it, and links to notebooks."""
    if page.file.generated_by is not None:
        return markdown
    here = f"docs/{page.file.src_uri}"
    places = site_places([file.src_uri for file in files])
    for name in (ROOT / "docs").rglob("*.ipynb"):
        file = str(name.relative_to(ROOT))
        places[file] = re.sub(r"\.ipynb$", ".md", file.removeprefix("docs/"))
    return turned(markdown, here, page.file.src_uri, places)
