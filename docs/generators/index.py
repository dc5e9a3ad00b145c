"""The page that lists every page of the documentation by its title and kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

from nearfar.lab import checkout
from nearfar.lab.checkout import NOTICE

__all__ = ["page"]

# Folder, heading, what its pages are for.
KINDS = (
    ("tutorials", "Tutorials", "Learn by doing, from nothing to a result."),
    ("how-to", "How-to guides", "Reach one goal, given that you know what you want."),
    ("reference", "Reference", "Look something up."),
    ("reproduction", "Reproduction", "The papers' numbers beside ours, and why they differ."),
    ("explanation", "Explanation", "Understand how it works, why, and what it costs."),
)


def title_of(page: Path) -> str:
    """Title of a page, or of a notebook."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    if title is None:
        raise SystemExit(f"{page.relative_to(checkout.ROOT)} has no title")
    return title[1]


def page() -> str:
    """The page in full."""
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
        for page in sorted(pages):
            lines.append(f"- [{title_of(page)}]({folder}/{page.name})")
    return "\n".join(lines) + "\n"
