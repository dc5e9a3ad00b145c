"""Pages of docs/reproduction and their pictures, from the stored results of the experiments.

A page is ``page()`` of the module ``page`` in an experiment's folder. Pictures need Matplotlib;
their bytes depend on its version, so a check tests only whether they exist.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from nearfar.lab import checkout
from nearfar.lab.experiments import experiments
from nearfar.lab.experiments.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["FOLDER", "draw", "makers", "shown", "wrong_pictures"]

FOLDER = "docs/reproduction"


def makers() -> dict[str, Callable[[], str]]:
    """Return the function that makes each page, by its path below the root."""
    found = {}
    for name, experiment in experiments().items():
        package = type(experiment).__module__.rpartition(".")[0]
        found[f"{FOLDER}/{name}.md"] = importlib.import_module(f"{package}.page").page
    return found


def shown(texts: Iterable[str]) -> set[str]:
    """Return the file names of the pictures that pages show."""
    return {name for text in texts for name in re.findall(r"\]\(images/([^)]+)\)", text)}


def draw(wanted: set[str]) -> None:
    """Draw every wanted picture and delete those that no page shows."""
    images = checkout.ROOT / FOLDER / "images"
    for name in experiments():
        for device in ("cpu", "cuda"):
            Kept(name, device).images(images, wanted)
    for old in images.glob("*.png"):
        if old.name not in wanted:
            old.unlink()


def wrong_pictures(wanted: set[str]) -> list[str]:
    """Return messages about missing and unused pictures in the folder."""
    held = {path.name for path in (checkout.ROOT / FOLDER / "images").glob("*.png")}
    return [
        f"{FOLDER}/images/{name} {'is missing' if name in wanted else 'is on no page'}"
        for name in sorted(wanted ^ held)
    ]
