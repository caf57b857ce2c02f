"""A hook of mkdocs: links that lead out of docs/, to files of the project, are written as plain names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)\s]*)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    return inside(markdown, DOCS / page.file.src_path)


def inside(markdown: str, page: Path) -> str:
    """Links to other pages stay; a folder has no page of its own."""

    def told(found: re.Match[str]) -> str:
        target = (page.parent / found[2].partition("#")[0]).resolve()
        return found[0] if target.is_relative_to(DOCS) and target.is_file() else found[1]

    return LINK.sub(told, markdown)
