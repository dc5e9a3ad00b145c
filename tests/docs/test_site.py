"""Documentation site: adjusted links, notebooks with outputs, and the order of pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.loading import load_program

ROOT = Path(__file__).resolve().parents[2]
site = load_program("scripts", "docs_site")


def test_links_are_turned_and_what_is_not_in_the_site_becomes_text() -> None:
    places = site.site_places(["how-to/a.md", "tutorials/n.ipynb", "images/x.png"])
    text = (
        "[a](docs/how-to/a.md#top) [n](docs/tutorials/n.ipynb) [c](CITATION.cff) [s](src/x.py)\n"
        '<img src="docs/images/x.png"> ![x](docs/images/x.png) [w](https://w.org) [here](#x)\n'
        "```cpp\nauto f = [&](docs/how-to/a.md) {};\n```\n"
    )
    assert site.turned(text, "README.md", "index.md", places) == (
        "[a](how-to/a.md#top) [n](tutorials/n.md) c s\n"
        '<img src="images/x.png"> ![x](images/x.png) [w](https://w.org) [here](#x)\n'
        "```cpp\nauto f = [&](docs/how-to/a.md) {};\n```\n"
    )
    out = site.turned("[r](../../README.md) [i](../index.md)", "docs/how-to/a.md", "how-to/a.md",
                      places)  # fmt: skip
    assert out == "[r](../index.md) [i](../all-pages.md)"


def test_the_order_is_that_of_the_list_of_pages_and_forgets_none() -> None:
    files = [p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")]
    files = [name for name in files if not name.startswith("engineering-log/")]  # not in the site
    pages = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in files}
    found = site.navigation({name: text for name, text in pages.items() if "/" in name})
    text = json.dumps(found)
    assert all(f'"{name}"' in text for name in files if "/" in name)
    guides = next(tab["How to"] for tab in found if "How to" in tab)
    assert list(guides[0].values()) == ["how-to/install.md"]
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    order = [str(next(iter(guide.values()))) for guide in guides]
    assert order == [name for name in re.findall(r"\]\((how-to/[^)]+)\)", index)]


def test_a_notebook_shows_what_its_cells_say_and_draw(tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": ["# A title\n", "words"]},
        {"cell_type": "code", "source": ["x = 4\n", "print(x)\n", "x + 1"]},
        {
            "cell_type": "code",
            "source": [
                "import os\nfrom pathlib import Path\n",
                "file = Path(os.environ['NEARFAR_NOTEBOOK_OUTPUT']) / 'a.png'\n",
                "_ = file.write_bytes(b'picture')\n",
                "print(file)",
            ],
        },
    ]
    file = tmp_path / "n.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    page = site.notebook_page(file, site.outputs)
    assert page.startswith("# A title\nwords\n\n```python\nx = 4")
    assert "```text\n4\n5\n```" in page
    assert "```text\na.png\n```" in page  # without the folder of this machine
    assert "(data:image/png;base64,cGljdHVyZQ==)" in page


def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "make demo" in home
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:', home)
    index = json.loads((tmp_path / "search" / "search_index.json").read_text("utf-8"))
    assert any("isochrones" in doc["text"] for doc in index["docs"])
    notebook = (tmp_path / "tutorials" / "road-map-to-parallelism.html").read_text("utf-8")
    assert "data:image/png;base64," in notebook
    assert (tmp_path / "project" / "benchmarks.html").exists()
