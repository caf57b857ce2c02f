"""Folders that an earlier fedleak wrote, of schema version 1, still load, and their entries keep their bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.payload import Table
from fedleak.storage import load_view, save_view
from fedleak.storage.capture_and_truth import load_capture, load_truth, save_capture, save_truth

SAMPLES = Path(__file__).parent / "samples" / "version_1"
FEATURES = Secret(SecretKind.FEATURES, "fintech")


def assert_same_entries(again: Path, sample: Path) -> None:
    """The header names the version that wrote it; the entries and the numbers stay as they were."""
    for name in ("index.jsonl", "segments/0000.npy"):
        assert (again / name).read_bytes() == (sample / name).read_bytes(), name


def test_a_capture_of_version_1(tmp_path: Path) -> None:
    captured = load_capture(SAMPLES / "capture")
    facts = captured.transcript.facts
    assert [party.name for party in facts.parties] == ["bank", "fintech"]
    assert (facts.protocol, facts.batch_size, facts.learning_rate) == ("vertical-logistic", 2, 0.1)
    assert len(captured.transcript.messages) == 16
    assert set(captured.locals) == {"bank", "fintech"}
    save_capture(captured, tmp_path / "again")
    assert_same_entries(tmp_path / "again", SAMPLES / "capture")


def test_a_view_of_version_1(tmp_path: Path) -> None:
    view = load_view(SAMPLES / "view")
    assert (view.coalition, view.target) == (("bank",), FEATURES)
    assert set(view.locals) == {"bank"}
    assert all(message.concerns(frozenset({"bank"})) for message in view.messages)
    save_view(view, tmp_path / "again")
    assert_same_entries(tmp_path / "again", SAMPLES / "view")


def test_the_truth_of_version_1(tmp_path: Path) -> None:
    truth = load_truth(SAMPLES / "truth")
    values = truth.of(FEATURES)
    assert values.columns == ("fintech0", "fintech1")
    assert values.values.shape == (4, 2)
    kept = load_capture(SAMPLES / "capture").locals["fintech"]
    tables = [record.value.values for record in kept if isinstance(record.value, Table)]
    assert any(np.array_equal(table, values.values) for table in tables)
    save_truth(truth, tmp_path / "again")
    assert_same_entries(tmp_path / "again", SAMPLES / "truth")
