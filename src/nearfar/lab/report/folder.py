"""Gather the files of a folder into one page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from nearfar.errors import OptionError
from nearfar.lab.report.markdown import Renderer
from nearfar.system.output import replacing

_KINDS = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg"}
#: Bytes above which JSON is named instead of shown, so that the page opens quickly.
_MOST_JSON = 400_000


def _asset(name: str) -> str:
    return resources.files("nearfar.lab.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


class _Folder:
    """Files of one experiment, with a record of the figures that pages have shown."""

    def __init__(self, folder: Path, leave_out: Path) -> None:
        self.folder = folder
        every = sorted(
            p
            for p in folder.rglob("*")
            if p.is_file() and not p.name.startswith(".") and p.resolve() != leave_out.resolve()
        )
        for path in every:
            if not self._holds(path):
                raise OptionError(
                    f"{path} is a link to a file outside {folder}: a report shows files of its "
                    "own folder, so replace the link by the file or remove it"
                )
        self.pages = [p for p in every if p.suffix == ".md"]
        if folder / "index.md" in every:  # its content is in the other pages
            self.pages = [p for p in self.pages if p.parent == folder]
        # A README, or a page named like the folder, describes the others.
        self.pages.sort(key=lambda p: (p.stem.lower() not in ("readme", "index"), str(p)))
        self.json = [p for p in every if p.suffix == ".json"]
        if folder / "results.json" in every:  # contains the single samples
            self.json = [p for p in self.json if p.parent == folder]
        self.figures = _one_form_each([p for p in every if p.suffix.lower() in _KINDS])
        self.shown: set[Path] = set()

    def _holds(self, path: Path) -> bool:
        """Return whether a file, after following links, is in the folder."""
        return path.resolve().is_relative_to(self.folder.resolve())

    def figure(self, path: Path, caption: str, above: str = "") -> str:
        """Return a figure with the picture embedded; no caption that repeats its heading."""
        self.shown.add(path.with_suffix(""))
        data = base64.b64encode(path.read_bytes()).decode()
        kind = _KINDS[path.suffix.lower()]
        text = html.escape(caption)
        below = "" if caption == above else f"<figcaption>{text}</figcaption>"
        return f'<figure><img alt="{text}" src="data:{kind};base64,{data}">{below}</figure>'

    def named(self, page: Path, target: str, alt: str, above: str = "") -> str:
        """Return the figure that a page names, if it is in the folder."""
        path = (page.parent / target).resolve()
        if not self._holds(path) or path.suffix.lower() not in _KINDS or not path.is_file():
            return f"<p><em>{html.escape(alt or target)}: no such picture</em></p>"
        return self.figure(path, alt or words(path.stem), above)


def _one_form_each(figures: list[Path]) -> list[Path]:
    """Return one file per picture, SVG before other formats."""
    best: dict[Path, Path] = {}
    for path in figures:
        stem = path.with_suffix("")
        if stem not in best or path.suffix == ".svg":
            best[stem] = path
    return list(best.values())


def words(stem: str) -> str:
    """Split a file name into words."""
    return re.sub(r"[-_]+", " ", stem)


def _document(path: Path) -> Any:
    """Return the content of a JSON file, or None if it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None


def _is_ours(document: Any) -> bool:
    """Return whether an experiment or a benchmark of this library wrote it."""
    return isinstance(document, dict) and str(document.get("schema")).startswith("nearfar-")


def _environment(documents: dict[Path, Any]) -> list[tuple[str, str]]:
    """Return machine, versions and commit from the first measurement that has them."""
    wanted = ("experiment", "settings", "scale", "device", "environment", "seed", "seeds")
    rows: dict[str, str] = {}
    for document in documents.values():
        if not isinstance(document, dict):
            continue
        if document.get("environments"):
            document = document | {"environment": document["environments"][-1]}
        for key in wanted:
            value = document.get(key)
            parts = value.items() if isinstance(value, dict) else [(key, value)]
            for name, part in parts:
                if part is None or isinstance(part, (list, tuple)):
                    continue
                if isinstance(part, dict):
                    part = ", ".join(f"{k} {v}" for k, v in part.items())
                rows.setdefault(words(str(name)), str(part))
    return list(rows.items())


def _facts(rows: list[tuple[str, str]]) -> str:
    lines = "".join(
        f'<tr><th scope="row">{html.escape(k)}</th><td>{html.escape(v)}</td></tr>' for k, v in rows
    )
    return f'<div class="scroll"><table class="facts"><tbody>{lines}</tbody></table></div>'


def _raw(path: Path, folder: Path) -> str:
    name = html.escape(str(path.relative_to(folder)))
    size = path.stat().st_size
    if size > _MOST_JSON:
        return f"<p><code>{name}</code>: {size:,} bytes, not repeated here.</p>"
    text = html.escape(path.read_text(encoding="utf-8", errors="replace"))
    return (
        f"<details><summary><code>{name}</code>, {size:,} bytes</summary>"
        f'<pre tabindex="0">{text}</pre></details>'
    )


def report_html(folder: Path, *, title: str | None = None, leave_out: Path | None = None) -> str:
    """Return the page of a folder.

    Parameters
    ----------
    folder : Path
        Output of an experiment or ``nearfar bench``: Markdown, figures (SVG, PNG, JPEG) and JSON,
        also in sub-folders.
    title : str or None
        None takes the first heading of the first page, else the folder's name.
    leave_out : Path or None
        A file that is not part of the experiment: an older report.

    Returns
    -------
    str
        HTML without external references.

    Raises
    ------
    OptionError
        If there is no folder, or no results of an experiment or a benchmark in it.
    """
    if not folder.is_dir():
        raise OptionError(f"{folder} is not a folder: give the one that an experiment wrote")
    found = _Folder(folder, leave_out or folder / "report.html")
    documents = {path: _document(path) for path in found.json}
    if not any(_is_ours(document) for document in documents.values()):
        raise OptionError(
            f"{folder} holds no results: expected a folder that `nearfar experiment` or "
            "`nearfar bench` wrote"
        )
    page = Path()

    def picture(target: str, alt: str) -> str:
        above = renderer.headings[-1][2] if renderer.headings else ""
        return found.named(page, target, alt, above)

    renderer = Renderer(picture)
    sections: list[str] = []
    for page in found.pages:  # the renderer's images are relative to `page`
        source = page.read_text(encoding="utf-8", errors="replace")
        heading = re.match(r"\s*(?:<!--.*?-->\s*)*# ([^\n]+)\n?", source, re.DOTALL)
        if heading and title is None:
            title, source = heading[1], source[heading.end() :]
        elif not heading:
            sections.append(renderer.heading(2, words(page.stem).capitalize()))
        sections.append(renderer.render(source, deeper=1 if heading and title != heading[1] else 0))
    others = [p for p in found.figures if p.with_suffix("") not in _resolved(found.shown, folder)]
    if others:
        sections.append(renderer.heading(2, "Figures" if not found.pages else "More figures"))
        sections += [found.figure(path, words(path.stem)) for path in others]
    facts = _environment(documents)
    if facts:
        sections += [renderer.heading(2, "Measured on"), _facts(facts)]
    sections.append(renderer.heading(2, "Results as JSON"))
    sections += [_raw(path, folder) for path in found.json]
    return _page(title or words(folder.resolve().name), sections, renderer.headings)


def _resolved(shown: set[Path], folder: Path) -> set[Path]:
    """Return the shown figures by their names in the folder's listing."""
    root = folder.resolve()
    return shown | {folder / p.relative_to(root) for p in shown if p.is_relative_to(root)}


def _page(title: str, sections: list[str], headings: list[tuple[int, str, str]]) -> str:
    css, js = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{_digest(css)}'; "
        f"script-src 'sha256-{_digest(js)}'; base-uri 'none'; form-action 'none'"
    )
    links = "".join(
        f'<li><a href="#{name}">{html.escape(text)}</a></li>'
        for level, name, text in headings
        if level == 2
    )
    contents = f'<nav aria-label="contents"><ul>{links}</ul></nav>' if links else ""
    body = "\n".join(sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="nearfar report">
<title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
<style>{css}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><h1>{html.escape(title)}</h1>
<p class="lead">A click on the head of a column sorts the table by it.</p>
{contents}</header>
<main id="content">
{body}
</main>
<script>{js}</script>
</body>
</html>
"""


def write_report(folder: Path, output: Path | None = None, *, title: str | None = None) -> Path:
    """Write the page of a folder; the file appears only when it is complete.

    Parameters
    ----------
    folder : Path
        As in :func:`report_html`.
    output : Path or None
        None takes ``report.html`` in the folder.
    title : str or None
        None finds one.

    Returns
    -------
    Path
        The file.
    """
    target = folder / "report.html" if output is None else output
    text = report_html(folder, title=title, leave_out=target)
    with replacing(target) as place:
        place.write_text(text, encoding="utf-8")
    return target
