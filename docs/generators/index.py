"""Page that lists every page of the documentation by title and kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

from nearfar.lab import checkout
from nearfar.lab.checkout import NOTICE

__all__ = ["page"]

# Folder, heading, purpose of its pages.
KINDS = (
    ("tutorials", "Tutorials", "Learn by doing, from nothing to a result."),
    ("how-to", "How-to guides", "Reach one goal."),
    ("reference", "Reference", "Look something up."),
    ("explanation", "Explanation", "Understand how and why it works, and its costs."),
    ("reproduction", "Reproduction", "The papers' numbers and ours, and why they differ."),
)

# Pages of a folder in reading order; others follow by title.
ORDER = {
    "tutorials": ("first-map",),
    "how-to": (
        *("install", "which-function", "find-shortest-paths"),
        *("read-and-write-graphs", "generate-graphs"),
        *("answer-questions-about-places", "draw-maps", "take-answers-elsewhere"),
        *("all-pairs", "prepare-a-graph", "rasters", "measure-centrality", "assign-traffic"),
        *("negative-cycles-arbitrage", "save-and-prove-answers", "use-in-scripts"),
        *("use-a-gpu", "use-a-cluster", "tune-launch-shapes"),
        *("coming-from-scipy", "coming-from-networkx", "coming-from-igraph"),
        *("coming-from-cugraph", "coming-from-pandana", "coming-from-scikit-image"),
        *("measure", "reproduce-the-papers", "make-a-report", "build-the-peers"),
    ),
    "reference": (
        *("glossary", "python", "python-graphs", "python-searches", "python-many-sources"),
        *("python-prepared", "python-places", "python-measures", "python-rasters"),
        *("python-files", "python-interfaces", "python-tools"),
        *("command-line", "methods", "file-formats", "environment", "platforms", "speed"),
    ),
    "explanation": (
        *("choosing", "cpu-engine", "gpu-engine", "breadth-first", "near-far"),
        *("compound-frontiers", "many-sources", "within-a-limit", "prepared-graphs", "rasters"),
        *("measures", "memory", "scale", "one-source-several-gpus", "zoo-speed"),
    ),
}


def title_of(page: Path) -> str:
    """Return the title of a page or of a notebook."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    if title is None:
        raise SystemExit(f"{page.relative_to(checkout.ROOT)} has no title")
    return title[1]


def order(page: Path) -> tuple[int, str]:
    """Return the sort key of a page within its folder."""
    known = ORDER.get(page.parent.name, ())
    return known.index(page.stem) if page.stem in known else len(known), title_of(page)


def page() -> str:
    """Return the page."""
    lines = [
        "# Documentation of nearfar",
        "",
        NOTICE,
        "",
        "What nearfar is and how to install it: [README](../README.md). How to change it: "
        "[CONTRIBUTING](../CONTRIBUTING.md).",
    ]
    for folder, heading, purpose in KINDS:
        lines += ["", f"## {heading}", "", purpose, ""]
        pages = [
            p for p in (checkout.ROOT / "docs" / folder).iterdir() if p.suffix in (".md", ".ipynb")
        ]
        for page in sorted(pages, key=order):
            lines.append(f"- [{title_of(page)}]({folder}/{page.name})")
    return "\n".join(lines) + "\n"
