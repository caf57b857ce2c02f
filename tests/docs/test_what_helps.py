"""Pages of attacks promise no help that another attack of ours undoes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "attacks").glob("*.md"))
PROMISE = re.compile(r"\*\*What helps:\*\*(.*?)(?=\*\*|\n\n|\Z)", re.DOTALL)
BROKEN = ("larger batch", "batches larger", "batches beyond", "second column", "contribute columns", "shuffle = false")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_helps_is_not_what_we_break(page: Path) -> None:
    promised = [
        sentence for found in PROMISE.findall(page.read_text(encoding="utf-8")) for sentence in found.split(".")
    ]
    said = [s for s in promised if any(word in s.lower() for word in BROKEN)]
    assert [s for s in said if not re.search(r"\bnot\b|hide residuals|stop this attack|no protection", s)] == []


def test_the_pages_do_promise_something() -> None:
    assert sum(bool(PROMISE.search(page.read_text(encoding="utf-8"))) for page in PAGES) > 20
