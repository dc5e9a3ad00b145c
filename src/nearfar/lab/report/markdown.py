"""Convert the Markdown of the library's tables and pages to HTML.

Headings, paragraphs, lists, tables, fenced code, images, links, bold, emphasis and code spans;
everything else is text. All text is escaped: HTML in a source file is shown as text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"^[~<>=\s]*([-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|[-+]?\.\d+)")
_RULE = re.compile(r"^\|?\s*:?-{3,}:?\s*(\|\s*:?-+:?\s*)*\|?$")
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|!\[(?P<alt>[^\]]*)\]\((?P<image>[^)\s]+)\)"
    r"|\[(?P<text>[^\]]+)\]\((?P<link>[^)\s]+)\)"
    r"|\*\*(?P<bold>[^*]+)\*\*"
    r"|(?<!\w)\*(?P<emphasis>[^*\s][^*]*)\*(?!\w)"
)
_BLOCK = re.compile(r"^(#{1,6}\s|```|[-*] |\d+\. |!\[|\|)")


def number_in(text: str) -> float | None:
    """Return the number that a cell begins with (``1,234``, ``3.4x``, ``12 ms``), or None."""
    found = _NUMBER.match(text.replace("*", "").replace("`", "").strip())
    return float(found[1].replace(",", "")) if found else None


def slug(text: str) -> str:
    """Return an identifier from a heading."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", inner)]


class Renderer:
    """Converter of Markdown to HTML; one per page, so that identifiers do not repeat."""

    def __init__(self, image: Callable[[str, str], str]) -> None:
        self.image = image
        self.headings: list[tuple[int, str, str]] = []
        self._names: set[str] = set()
        self._tables = 0

    def name(self, text: str) -> str:
        """Return a fresh identifier for a heading."""
        base = slug(text)
        found, count = base, 2
        while found in self._names:
            found, count = f"{base}-{count}", count + 1
        self._names.add(found)
        return found

    def inline(self, text: str) -> str:
        """Return the spans of one line."""
        out, at = [], 0
        for found in _INLINE.finditer(text):
            out.append(html.escape(text[at : found.start()]))
            at = found.end()
            if found["code"]:
                out.append(f"<code>{html.escape(found['code'])}</code>")
            elif found["image"]:
                out.append(self.image(found["image"], found["alt"]))
            elif found["link"]:
                out.append(self._link(found["text"], found["link"]))
            elif found["bold"]:
                out.append(f"<strong>{self.inline(found['bold'])}</strong>")
            else:
                out.append(f"<em>{self.inline(found['emphasis'])}</em>")
        out.append(html.escape(text[at:]))
        return "".join(out)

    def _link(self, text: str, target: str) -> str:
        shown = self.inline(text)
        if re.match(r"https?://|#", target):
            return f'<a href="{html.escape(target)}">{shown}</a>'
        return shown  # relative links would lead outside the page

    def heading(self, level: int, text: str) -> str:
        """Return a heading, remembered for the table of contents."""
        name = self.name(re.sub(r"[`*]", "", text))
        self.headings.append((level, name, re.sub(r"[`*]", "", text)))
        return f'<h{level} id="{name}">{self.inline(text)}</h{level}>'

    def render(self, source: str, *, deeper: int = 0) -> str:
        """Return a whole text."""
        lines = re.sub(r"<!--.*?-->", "", source, flags=re.DOTALL).splitlines()
        out: list[str] = []
        at = 0
        while at < len(lines):
            line = lines[at]
            rest = lines[at + 1] if at + 1 < len(lines) else ""
            if not line.strip():
                at += 1
            elif line.startswith("```"):
                end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), -1)
                end = len(lines) if end < 0 else end
                out.append(f"<pre>{html.escape(chr(10).join(lines[at + 1 : end]))}</pre>")
                at = end + 1
            elif found := re.match(r"^(#{1,6})\s+(.*?)\s*#*$", line):
                out.append(self.heading(min(len(found[1]) + deeper, 6), found[2]))
                at += 1
            elif "|" in line and _RULE.match(rest.strip()):
                end = at + 2
                while end < len(lines) and "|" in lines[end]:
                    end += 1
                rule = _cells(rest)
                out.append(
                    self.table(_cells(line), rule, [_cells(row) for row in lines[at + 2 : end]])
                )
                at = end
            elif re.match(r"^([-*]|\d+\.) ", line):
                at = self._list(lines, at, out)
            else:
                end = at + 1
                while end < len(lines) and lines[end].strip() and not _BLOCK.match(lines[end]):
                    end += 1
                text = self.inline(" ".join(part.strip() for part in lines[at:end]))
                out.append(text if text.startswith("<figure") else f"<p>{text}</p>")
                at = end
        return "\n".join(out)

    def _list(self, lines: Sequence[str], at: int, out: list[str]) -> int:
        ordered = lines[at][0].isdigit()
        items: list[str] = []
        while at < len(lines):
            line = lines[at]
            found = re.match(r"^(?:[-*]|\d+\.) (.*)$", line)
            if found:
                items.append(found[1])
            elif line.startswith("  ") and line.strip() and items:
                items[-1] += " " + line.strip()
            else:
                break
            at += 1
        kind = "ol" if ordered else "ul"
        listed = "".join(f"<li>{self.inline(item)}</li>" for item in items)
        out.append(f"<{kind}>{listed}</{kind}>")
        return at

    def table(self, head: Sequence[str], rule: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Return a table that clicks on headers sort; the key of a cell is its leading number."""
        self._tables += 1
        ident = f"t{self._tables}"
        right = [cell.endswith(":") for cell in rule] + [False] * len(head)
        kind = [' class="number"' if right[i] else "" for i in range(len(head))]
        top = "".join(
            f'<th scope="col"{kind[i]}><button type="button">{self.inline(cell) or "&nbsp;"}'
            "</button></th>"
            for i, cell in enumerate(head)
        )
        body = []
        for row in rows:
            padded = [*row, *[""] * len(head)][: len(head)]
            cells = []
            for i, cell in enumerate(padded):
                value = number_in(cell) if right[i] else None
                data = "" if value is None else f' data-key="{value:.17g}"'
                cells.append(f"<td{kind[i]}{data}>{self.inline(cell)}</td>")
            body.append(f"<tr>{''.join(cells)}</tr>")
        label = html.escape(", ".join(re.sub(r"[`*]", "", cell) for cell in head if cell))
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="table: {label}">'
            f'<table class="sortable" id="{ident}"><thead><tr>{top}</tr></thead>\n<tbody>'
            + "\n".join(body)
            + "</tbody></table></div>"
        )
