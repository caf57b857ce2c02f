"""What counts as having been looked up."""

from __future__ import annotations

import pytest

from advisories import CLEAN, FOUND, NOT_LOOKED_UP, judged

FINE = {"name": "a", "version": "1", "vulns": []}
UNSEEN = {"name": "b", "skip_reason": "not found"}
BAD = {"name": "c", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
HOPELESS = {"name": "d", "version": "2", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}


@pytest.mark.parametrize(
    ("packages", "code", "told"),
    [
        ([FINE, FINE], CLEAN, ["2 pins looked up"]),
        ([FINE, BAD], FOUND, ["c 2: PYSEC-1, mended in 3", "2 pins looked up"]),
        ([HOPELESS], FOUND, ["d 2: PYSEC-2, mended in no version yet", "1 pins looked up"]),
    ],
)
def test_what_is_known_is_told(packages, code, told):
    assert judged(packages) == (code, told)


@pytest.mark.parametrize("packages", [[], [UNSEEN], [FINE, UNSEEN]])
def test_what_was_not_looked_up_is_no_good_news(packages):
    code, lines = judged(packages)
    assert code == NOT_LOOKED_UP
    assert lines[0].startswith(f"NOT LOOKED UP: {packages.count(UNSEEN)} of {len(packages)} pins")


def test_a_vulnerability_counts_beside_what_was_not_looked_up():
    code, lines = judged([BAD, UNSEEN])
    assert code == FOUND
    assert any(line.startswith("NOT LOOKED UP: 1 of 2") for line in lines)
