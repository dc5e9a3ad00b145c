"""Write the pages of docs/reproduction from the kept results of the experiments.

``python scripts/make_reproduction.py`` rewrites them; with ``--check`` it only compares and exits 1
when they differ, which is what a test does. A page is a module ``scripts/reproduction_*.py`` with
``PAGE``, its path below the repository's root, and ``page()``, its text.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent
sys.path.insert(0, str(SCRIPTS))


def pages() -> dict[Path, str]:
    """Text of every page by its path."""
    names = sorted(file.stem for file in SCRIPTS.glob("reproduction_*.py"))
    modules = [importlib.import_module(name) for name in names]
    return {ROOT / module.PAGE: module.page() for module in modules}


def main() -> int:
    """Write or check all pages."""
    check, stale = "--check" in sys.argv[1:], 0
    for path, text in pages().items():
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
