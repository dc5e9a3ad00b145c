"""Small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def facts_table(title: str, facts: Iterable[tuple[str, object]]) -> str:
    """Return a table of labels and values with a title."""
    return table(title, (), facts)


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a title and heads; the first cell of a row is its label."""
    head = "".join(f"<th>{_text(cell)}</th>" for cell in heads)
    lines = ["<table>", f"<caption>{_text(title)}</caption>"]
    lines += [f"<thead><tr>{head}</tr></thead>"] if heads else []
    lines.append("<tbody>")
    for row in rows:
        label, *cells = row
        values = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
        lines.append(f"<tr><th>{_text(label)}</th>{values}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def _text(cell: object) -> str:
    import html  # imported late, since its table of entities is large

    return html.escape(str(cell))
