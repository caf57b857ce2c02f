"""The site's configuration names pages that exist, and links that lead out of docs/ are cut."""

from __future__ import annotations

import re
from pathlib import Path

from site_links import DOCS, inside

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"^\s+- [^:\n]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)


def test_every_page_of_the_navigation_exists():
    assert len(NAMED) > 25
    assert [name for name in NAMED if not (DOCS / name).is_file()] == []
    assert len(set(NAMED)) == len(NAMED)


def test_every_tutorial_and_paper_is_in_the_navigation():
    pages = {path.relative_to(DOCS).as_posix() for path in (*DOCS.glob("papers/*.md"), *DOCS.glob("tutorials/*.md"))}
    assert pages - set(NAMED) == set()


def test_links_to_files_outside_the_docs_become_plain_words():
    page = DOCS / "papers" / "hu2022.md"
    assert inside("see [plan](../../scripts/results.py)", page) == "see plan"
    kept = "[report](../report.md#what) ![p](../../x.png)"
    assert inside(kept, page) == kept
    assert inside("[results](../results)", page) == "results"
