"""A report names the data that it is about: the same data the same digest, one other cell another."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pandas as pd
import pytest

import fedleak
from fedleak.core.report import DATA_DIGEST, FILE_DIGEST
from fedleak.recorder import Recorder
from fedleak.report import html
from fedleak.report.json_format import redact
from fedleak.trial import provenance

FRAME = pd.DataFrame(np.random.default_rng(2).normal(size=(24, 4)), columns=list("abcd"))
FRAME["y"] = (FRAME["a"] > 0).astype(int)


def audited(frame: pd.DataFrame) -> fedleak.Report:
    parties = {"bank": ["a", "b"], "shop": ["c", "d"]}
    return fedleak.audit(
        frame, target="y", parties=parties, attacks=["own-weights"], repeats=1, cipher="sealed", epochs=1, batch_size=8
    )


def test_one_other_cell_is_another_digest_and_the_same_data_the_same():
    first, again = audited(FRAME).environment, audited(FRAME.copy()).environment
    other = FRAME.copy()
    other.loc[5, "d"] += 1e-9
    assert first[DATA_DIGEST] == again[DATA_DIGEST] != audited(other).environment[DATA_DIGEST]
    assert FILE_DIGEST not in first


@pytest.mark.usefixtures("_in_folder")
def test_of_a_file_the_digest_is_the_one_that_sha256sum_gives(tmp_path):
    FRAME.to_csv("people.csv", index=False)
    table = {"data": {"source": "people.csv", "target": "y"}, "adversary": [{"parties": ["shop"]}]}
    parties = [{"name": "bank", "role": "active", "columns": ["a", "b"]},
               {"name": "shop", "role": "passive", "columns": ["c", "d"]}]  # fmt: skip
    settings = {"protocol": "vertical-logistic", "cipher": "sealed", "epochs": 1, "batch_size": 8, "parties": parties}
    report = fedleak.audit({**table, "federation": settings}, attacks=["own-weights"], repeats=1)
    expected = sha256((tmp_path / "people.csv").read_bytes()).hexdigest()
    assert report.environment[FILE_DIGEST] == expected
    page = html.render(report)
    assert expected in page
    assert str(report.environment[DATA_DIGEST]) in page
    for digest in (expected, str(report.environment[DATA_DIGEST])):  # whoever knows all but a cell could try it
        assert digest not in html.render(redact(report))


@pytest.fixture
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def captured(folder, value: float) -> str:
    with Recorder(folder, {"bank": "active", "shop": "passive"}) as recorder:
        recorder.message("train.shared-score", "shop", "bank", np.array([value, 2.0]), round=0)
    return str(fedleak.audit(transcript=folder).environment[DATA_DIGEST])


def test_of_a_captured_run_the_contents_count(tmp_path):
    first, again, other = (captured(tmp_path / name, value) for name, value in (("a", 1.0), ("b", 1.0), ("c", 1.5)))
    assert first == again != other


def test_the_commit_is_told_where_a_checkout_knows_it(monkeypatch):
    provenance._commit.cache_clear()
    monkeypatch.setattr(provenance, "code_state", lambda: {"commit": "a" * 40, "uncommitted_changes": True})
    assert provenance.environment()["commit"] == f"{'a' * 40} and changes since"
    provenance._commit.cache_clear()
    monkeypatch.setattr(provenance, "code_state", lambda: {"commit": None, "uncommitted_changes": None})
    assert "commit" not in provenance.environment()
    provenance._commit.cache_clear()
