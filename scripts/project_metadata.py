"""What the package index shows: README with links that lead somewhere, and the project's addresses.

The one place of the project's public address is ``repository-code`` in CITATION.cff. With it, links
and pictures lead to the files of the release's tag. Without it there is nothing that they could
lead to: links within the repository become their text; pictures, paragraphs that begin with such a
link and headings of nothing else are left out.

The build asks :func:`dynamic_metadata` for ``readme`` and ``urls`` (see pyproject.toml).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r'!\[[^\]]*\]\(([^)\s]+)\)|<img [^>]*src="([^"]+)"[^>]*>')
_CAPTION = re.compile(r"\*[^*\n]+\*")
_ELSEWHERE = re.compile(r"[a-z]+:|#")


def citation(key: str) -> str | None:
    """A value at the top level of CITATION.cff; None where it is missing."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(rf'^{re.escape(key)}: "?([^"\n]+?)"?\s*$', text, re.MULTILINE)
    return found[1] if found else None


def file_address(address: str, file: str, *, raw: bool = False) -> str:
    """Where a file of this version can be seen, or with ``raw`` its content."""
    name, mark, anchor = file.partition("#")
    kind = "raw" if raw else "blob"
    return f"{address}/{kind}/v{citation('version')}/{posixpath.normpath(name)}{mark}{anchor}"


def long_description(text: str, address: str | None) -> str:
    """A page of the repository's root for readers who have only this text.

    Parameters
    ----------
    text : str
        Markdown.
    address : str or None
        Of the repository, such as ``https://host/owner/name``.
    """

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        if _ELSEWHERE.match(target):
            return found[0]
        return words if address is None else f"[{words}]({file_address(address, target)})"

    def picture(found: re.Match[str]) -> str:
        target = found[1] or found[2]
        if _ELSEWHERE.match(target):
            return found[0]
        if address is None:
            return ""
        return found[0].replace(target, file_address(address, target, raw=True))

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(parts), 2):
        kept: list[str] = []
        gone = False  # a picture, whose caption goes with it
        for paragraph in re.split(r"(\n{2,})", parts[at]):
            shown = _LINK.sub(link, _PICTURE.sub(picture, paragraph))
            if address is None and _LINK.match(paragraph) and shown[:1] != "[":
                shown = ""
            if gone and _CAPTION.fullmatch(paragraph.strip()):
                shown = ""
            if paragraph.strip():
                gone = not shown.strip()
            kept.append(shown)
        parts[at] = "".join(kept)
    whole = re.sub(r"\n{3,}", "\n\n", "".join(parts))
    return re.sub(r"^#+ [^\n]+\n\n(?=#)", "", whole, flags=re.MULTILINE)


def project_urls(address: str | None) -> dict[str, str]:
    """Addresses for the side of the project's page; none without a public address."""
    if address is None:
        return {}
    return {
        "Repository": address,
        "Documentation": file_address(address, "docs/index.md"),
        "Changelog": file_address(address, "CHANGELOG.md"),
        "Issues": f"{address}/issues",
    }


def dynamic_metadata(field: str, settings: Any = None, project: Any = None) -> Any:
    """One field of the package's metadata, for scikit-build-core."""
    address = citation("repository-code")
    if field == "urls":
        return project_urls(address)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return {"content-type": "text/markdown", "text": long_description(text, address)}
