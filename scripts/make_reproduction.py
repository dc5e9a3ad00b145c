"""Write the pages and pictures of docs/reproduction from the kept results of the experiments.

``python scripts/make_reproduction.py`` rewrites them; with ``--check`` it only compares and exits 1
when a page differs, or a picture is missing or is shown by no page, which is what a test does. A
page is a module ``scripts/reproduction_*.py`` with ``PAGE``, its path below the repository's root,
and ``page()``, its text. Pictures need matplotlib; their bytes depend on its version, so
``--check`` does not draw them.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent
IMAGES = ROOT / "docs" / "reproduction" / "images"
sys.path.insert(0, str(SCRIPTS))


def pages() -> dict[Path, str]:
    """Text of every page by its path."""
    names = sorted(file.stem for file in SCRIPTS.glob("reproduction_*.py"))
    modules = [importlib.import_module(name) for name in names]
    return {ROOT / module.PAGE: module.page() for module in modules}


def shown(texts: dict[Path, str]) -> set[str]:
    """File names of the pictures that the pages show."""
    return {name for text in texts.values() for name in re.findall(r"\]\(images/([^)]+)\)", text)}


def draw_all(wanted: set[str]) -> None:
    """Draw every wanted picture and delete those that no page shows any more."""
    from experiment_results import Kept

    from nearfar.lab.experiments import experiments

    for name in experiments():
        for device in ("cpu", "cuda"):
            Kept(name, device).images(IMAGES, wanted)
    for old in IMAGES.glob("*.png"):
        if old.name not in wanted:
            old.unlink()


def main() -> int:
    """Write or check all pages."""
    check, stale = "--check" in sys.argv[1:], 0
    texts = pages()
    wanted = shown(texts)
    if not check:
        draw_all(wanted)
    held = {path.name for path in IMAGES.glob("*.png")}
    for name in sorted(wanted ^ held):
        what = "is missing" if name in wanted else "is on no page"
        print(f"{name} {what}: run python scripts/make_reproduction.py", file=sys.stderr)
        stale = 1
    for path, text in texts.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        where = path.relative_to(ROOT)
        if check:
            print(f"{where} is stale: run python scripts/make_reproduction.py", file=sys.stderr)
            stale = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {where}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
