"""Print nearfar's requirements, one per line: ``list_requirements.py [EXTRA ...]``.

Reads pyproject.toml, so that the Makefile can fetch dependencies while the C++ module compiles.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_OWN_EXTRAS = re.compile(r"nearfar\[([\w,\s-]+)\]")


def requirements(extras: list[str]) -> list[str]:
    """Return the requirements of the base install and some extras; extras may name extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    found = dict.fromkeys(project["dependencies"])
    waiting = list(extras)
    while waiting:
        for line in project["optional-dependencies"][waiting.pop()]:
            own = _OWN_EXTRAS.fullmatch(line)
            if own:
                waiting += [name.strip() for name in own[1].split(",")]
            else:
                found[line] = None
    return list(found)


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
