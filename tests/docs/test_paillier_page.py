"""The figures on the page are those that were measured."""

from __future__ import annotations

import json

import paillier_table


def test_the_table_is_made_from_what_was_measured():
    result = json.loads(paillier_table.MEASURED.read_text(encoding="utf-8"))
    text = paillier_table.PAGE.read_text(encoding="utf-8")
    assert paillier_table.page(text, result) == text
    for side in result["sides"]:
        assert side in paillier_table.table(result)
