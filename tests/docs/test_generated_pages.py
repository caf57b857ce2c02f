"""Pages that are made from the code are what the code makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fedleak.auditing.scenario_reference import scenario_reference
from fedleak.report.json_reference import json_reference

DOCS = Path(__file__).parents[2] / "docs"


PAGES: dict[str, Callable[[], str]] = {"scenario.md": scenario_reference, "report_json.md": json_reference}


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run: make docs"
