"""Report of an experiment's folder: its structure, and its behaviour in a real browser."""

from __future__ import annotations

import base64
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nearfar.cli.console import Exit
from nearfar.errors import OptionError
from nearfar.lab.experiments.runner import RESULTS_SCHEMA
from nearfar.lab.report import report_html, write_report
from nearfar.lab.report.markdown import Renderer, number_in
from tests.browser import Browser, find_browser
from tests.program import fail, succeed

PAGE = """\
<!-- generated -->
# Roads & <numbers>

Text with `a < b`, **bold** and a [link](https://example.org/x).

## Times

| graph | ms | over |
|---|---:|---:|
| martin | 1,200 | 3.4x |
| grid | 20.5 | 10.0x |
| roads | - | 9.1x |
| <script>document.title = "taken"</script> | 3 | 100x |

![Near set and far pile](figures/fig4.svg)
"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40">'
    '<image href="https://example.org/tracker.png" width="9" height="9"/>'
    '<rect width="90" height="40" fill="#07c"/></svg>'
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "trial"
    (root / "figures").mkdir(parents=True)
    (root / "tables.md").write_text(PAGE)
    (root / "figures" / "fig4.svg").write_text(SVG)
    (root / "figures" / "fig4.png").write_bytes(PNG)
    (root / "figures" / "fig_7-deltas.png").write_bytes(PNG)
    environment = {"cpu": "a processor", "versions": {"numpy": "2.0"}}
    results = {"schema": RESULTS_SCHEMA, "scale": "small", "environment": environment}
    (root / "results.json").write_text(json.dumps(results))
    return root


class Tags(HTMLParser):
    """Parser that collects all tags with their attributes, and checks that each is closed."""

    VOID = ("meta", "link", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_the_page_is_whole_and_refers_to_nothing_outside(folder: Path) -> None:
    page = Tags(report_html(folder))
    for _, attributes in page.tags:
        for name in ("src", "srcset", "data", "poster", "action"):
            assert (attributes.get(name) or "data:").startswith("data:")
    assert all((a["href"] or "").startswith(("data:", "#")) for a in page.named("link"))
    assert len(page.named("script")) == 1
    assert len(page.named("title")) == 1
    assert page.named("html") == [{"lang": "en"}]
    identifiers = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(identifiers) == len(set(identifiers))


def test_figures_are_inside_once_with_their_words(folder: Path) -> None:
    images = Tags(report_html(folder)).named("img")
    assert [a["alt"] for a in images] == ["Near set and far pile", "fig 7 deltas"]
    kind, data = (images[0]["src"] or "").split(",", 1)
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == SVG


def test_a_caption_is_not_said_twice(folder: Path) -> None:
    (folder / "tables.md").write_text(
        "# T\n\n## Queues\n\n![Queues](figures/fig4.svg)\n\n![More](figures/fig4.png)\n"
    )
    text = report_html(folder)
    assert text.count("<figcaption>Queues</figcaption>") == 0
    assert text.count('alt="Queues"') == 1
    assert text.count("<figcaption>More</figcaption>") == 1


def test_text_of_results_is_shown_and_never_obeyed(folder: Path) -> None:
    text = report_html(folder)
    assert "&lt;script&gt;document.title" in text
    assert "<title>Roads &amp; &lt;numbers&gt;</title>" in text
    assert "a processor" in text
    assert "numpy 2.0" in text


def test_tables_carry_their_keys_and_headers_are_buttons(folder: Path) -> None:
    text = report_html(folder)
    assert re.findall(r'data-key="([^"]+)"', text) == [
        "1200", "3.3999999999999999", "20.5", "10", "9.0999999999999996", "3", "100",
    ]  # fmt: skip
    assert text.count('<th scope="col"') == text.count('<button type="button">') == 3


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234", 1234.0), ("**3.4x**", 3.4), ("-2e3 ms", -2000.0), ("~5", 5.0), ("-", None),
     ("missed by 3%", None), ("", None), ("`7`", 7.0)],
)  # fmt: skip
def test_numbers_in_cells(text: str, number: float | None) -> None:
    assert number_in(text) == number


def test_markdown_blocks() -> None:
    renderer = Renderer(lambda path, alt: f"[{path}|{alt}]")
    html = renderer.render("# A\n\n- one\n  more\n- two\n\n1. x\n\n```sh\na <b>\n```\ntail\nend")
    assert '<h1 id="a">A</h1>' in html
    assert "<ul><li>one more</li><li>two</li></ul>" in html
    assert "<ol><li>x</li></ol>" in html
    assert "<pre>a &lt;b&gt;</pre>" in html
    assert "<p>tail end</p>" in html
    assert renderer.render("[a](x.md) *b*") == "<p>a <em>b</em></p>"
    assert '<a href="https://e.org">' in renderer.render("[a](https://e.org)")
    assert "javascript" not in renderer.render("[a](javascript:alert(1))")
    assert renderer.render("| a |\n|---|\n| x \\| y |").count("<td>x | y</td>") == 1


def test_a_picture_outside_of_the_folder_is_refused(folder: Path) -> None:
    (folder.parent / "secret.png").write_bytes(PNG)
    (folder / "tables.md").write_text("# T\n\n![x](../secret.png)\n")
    assert "no such picture" in report_html(folder)


@pytest.mark.parametrize("name", ["stolen.png", "notes.md", "more.json"])
@pytest.mark.parametrize("by_folder", [False, True])
def test_links_that_leave_the_folder_are_refused(
    folder: Path, tmp_path: Path, name: str, by_folder: bool
) -> None:
    """Regression: links to files outside the folder were followed, and shown."""
    outside = tmp_path / "private"
    outside.mkdir()
    (outside / name).write_bytes(b"a secret")
    if by_folder:
        (folder / "below").symlink_to(outside)
        (folder / name).symlink_to("below/" + name)
    else:
        (folder / name).symlink_to(outside / name)
    with pytest.raises(OptionError, match=f"{name} is a link to a file outside"):
        report_html(folder)


def test_links_within_the_folder_are_followed(folder: Path) -> None:
    figure = next(p for p in folder.rglob("*") if p.suffix == ".svg")
    (folder / "again.svg").symlink_to(figure)
    assert report_html(folder)


def test_written_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_report(folder)
    before = file.read_text()
    assert write_report(folder) == file
    assert file.read_text() == before  # an older report is not part of the next

    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_report(folder)
    assert file.read_text() == before
    assert [p for p in os.listdir(folder) if p.endswith(".tmp")] == []


def test_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not a folder"):
        report_html(tmp_path / "none")
    (tmp_path / "notes.md").write_text("# Notes\n")
    (tmp_path / "package.json").write_text('{"schema": 1}')
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "damaged.json").write_bytes(b"\xff{")
    with pytest.raises(OptionError, match=r"holds no results: expected .* `nearfar bench` wrote"):
        report_html(tmp_path)


def test_a_folder_of_several_results(folder: Path) -> None:
    (folder / "bench").mkdir()
    peers = {"schema": "nearfar-bench-peers/1", "settings": {"rounds": 5}}
    (folder / "results.json").rename(folder / "bench" / "results.json")
    (folder / "bench" / "peers.json").write_text(json.dumps(peers))
    text = report_html(folder)
    assert text.count("<details><summary>") == 2
    assert "a processor" in text


def test_the_command(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert json.loads(succeed("report", folder, "-o", out, "--json"))["report"] == str(out)
    assert out.read_text().startswith("<!DOCTYPE html>")
    fail(Exit.USAGE, "report", tmp_path / "none")
    fail(Exit.USAGE, "report", folder, "-o", tmp_path / "r.pdf")


def test_in_a_browser(folder: Path, tmp_path: Path) -> None:
    """Opened from disk: tables sort by real clicks, and nothing is requested from a network."""
    program = find_browser()
    if program is None:
        pytest.skip("no browser: apt-get install chromium, or name one in NEARFAR_BROWSER")
    file = write_report(folder)
    address = file.resolve().as_uri()
    first = "[...document.querySelectorAll('#t1 tbody tr td:first-child')].map(c => c.textContent)"
    script = '<script>document.title = "taken"</script>'
    with Browser(program, tmp_path / "profile") as browser:
        browser.open(address)
        assert browser.value("document.title") == "Roads & <numbers>"
        assert browser.value(first) == ["martin", "grid", "roads", script]
        browser.click("#t1 th:nth-child(2) button")
        assert browser.value(first) == [script, "grid", "martin", "roads"]
        browser.click("#t1 th:nth-child(2) button")
        assert browser.value(first) == ["martin", "grid", script, "roads"]
        state = "document.querySelector('#t1 th:nth-child(2)').getAttribute('aria-sort')"
        assert browser.value(state) == "descending"
        browser.click("#t1 th:nth-child(1) button")
        assert browser.value(first) == [script, "grid", "martin", "roads"]
        sizes = "[...document.images].map(i => i.complete && i.naturalWidth > 0)"
        assert browser.value(sizes) == [True, True]
        browser.open(address + "#sort=t1.2.desc")
        assert browser.value(first) == [script, "grid", "roads", "martin"]
        for dark in (False, True):
            browser.screenshot(tmp_path / f"page-{dark}.png", dark=dark)
        assert (tmp_path / "page-True.png").read_bytes() != (
            tmp_path / "page-False.png"
        ).read_bytes()
        outside = [u for u in browser.requests if not u.startswith(("file:", "data:", "about:"))]
        assert outside == []
        assert address in browser.requests
        assert browser.complaints == []
