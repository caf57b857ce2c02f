"""The truth about a captured run: from a folder or a CSV file, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import horizontal
from captured_runs import GIVEN, part, replayed, stored
from federations import run, sealed, sealed_arbiter, vertical
from fedleak.auditing.captured_audit import plan_captured
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.errors import DataError
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.protocols.captured.captured import NO_TRUTH, WITH_TRUTH
from fedleak.protocols.captured.derived_truth import derived_truth
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.recorder import Recorder
from fedleak.storage.capture_and_truth import DiskSink, save_capture, save_truth
from fedleak.trial.play import play
from prediction_runs import run_prediction, unit_federation


def check_same(derived: Truth, original: Truth) -> None:
    for secret in original.secrets:
        mine, theirs = derived.of(secret), original.of(secret)
        assert mine.columns == theirs.columns, secret
        np.testing.assert_allclose(mine.values, theirs.values, atol=1e-12, err_msg=str(secret))
        assert np.array_equal(mine.ids, theirs.ids), secret


@pytest.mark.parametrize("approximation", ["taylor", "cubic", "piecewise"])
def test_derived_truths_are_those_of_the_run(approximation):
    result = run(vertical({"bank": 3, "fintech": 4}, sealed(approximation=approximation)))
    captured = Captured(result.transcript, result.locals)
    derived = derived_truth(part(result.truth, *GIVEN), captured)
    check_same(derived, result.truth)
    assert {secret.kind for secret in result.truth.secrets} >= {
        SecretKind.RESIDUALS,
        SecretKind.PARTIAL_SCORES,
        SecretKind.GRAM,
    }


@pytest.mark.parametrize("protocol", ["vertical-logistic-arbiter", "vertical-linear-arbiter"])
def test_derived_truths_with_an_arbiter(protocol):
    from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings

    settings = sealed_arbiter()
    if protocol == "vertical-linear-arbiter":
        settings = VerticalLinearArbiterSettings(cipher="sealed", key_bits=1024, batch_size=6, epochs=2)
    result = run(vertical({"bank": 3, "fintech": 4, "referee": 0}, settings, protocol=protocol))
    derived = derived_truth(part(result.truth, *GIVEN), Captured(result.transcript, result.locals))
    check_same(derived, result.truth)
    assert Secret(SecretKind.WEIGHTS, "fintech") in derived.secrets


def test_derived_truths_of_rows():
    rows = {name: horizontal.binary(6, 3, i) for i, name in enumerate(("clinic", "hospital", "lab"))}
    federation = horizontal.federation(rows, horizontal.HorizontalLogisticSettings(rounds=2))
    result = run(federation)
    records = result.truth.of(Secret(SecretKind.RECORDS, "clinic"))
    assert records.values.shape == (6, 4)
    given = {}
    for party in federation.parties[:3]:
        ids, own = party.train.ids, party.train
        given[Secret(SecretKind.FEATURES, party.name)] = SecretValues.spanning(ids, party.columns, own.features)
        given[Secret(SecretKind.LABELS, party.name)] = SecretValues.spanning(
            ids, ("label",), own.labels[:, None].astype(float)
        )
    check_same(derived_truth(Truth(given), Captured(result.transcript, result.locals)), result.truth)


def test_derived_truths_of_predictions():
    federation = unit_federation({"bank": 2, "fintech": 2}, PredictionSettings(model="tree", unit_box=False))
    result = run_prediction(federation)
    given = Truth(
        {
            Secret(SecretKind.FEATURES, p.name): SecretValues.spanning(p.train.ids, p.columns, p.train.features)
            for p in federation.parties
        }
    )
    derived = derived_truth(given, Captured(result.transcript, result.locals))
    check_same(derived, result.truth)
    assert derived.served is not None
    assert result.truth.served is not None
    np.testing.assert_array_equal(derived.served.inputs.values, result.truth.served.inputs.values)
    np.testing.assert_array_equal(derived.served.confidences, result.truth.served.confidences)


def test_what_weights_are_not_recorded_for_cannot_be_checked(small):
    _, result = small
    without = {
        party: [r for r in records if party != "bank" or r.name != "weights"]
        for party, records in result.locals.items()
    }
    derived = derived_truth(part(result.truth, *GIVEN), Captured(result.transcript, without))
    assert not derived.can_check(Secret(SecretKind.RESIDUALS, JOINT))
    assert not derived.can_check(Secret(SecretKind.PARTIAL_SCORES, "bank"))
    assert derived.can_check(Secret(SecretKind.PARTIAL_SCORES, "fintech"))
    assert derived.can_check(Secret(SecretKind.GRAM, "bank"))


def test_the_report_names_whose_weights_are_missing(tmp_path, small):
    _, result = small
    save_truth(part(result.truth, *GIVEN), tmp_path / "truth")
    assert replayed(stored(result, tmp_path / "whole"), tmp_path / "truth").run.notes == (WITH_TRUTH,)
    without = {party: [r for r in kept if r.name != "weights"] for party, kept in result.locals.items()}
    save_capture(Captured(result.transcript, without), tmp_path / "part")
    note = "what follows from the weights of bank and fintech is not checked: they are not recorded"
    assert replayed(tmp_path / "part", tmp_path / "truth").run.notes == (WITH_TRUTH, note)
    assert replayed(tmp_path / "part").run.notes == (NO_TRUTH,)


def test_the_report_names_the_defense_that_the_transcript_declares(tmp_path):
    sink = DiskSink(tmp_path / "run")
    play(vertical({"bank": 3, "fintech": 4}, sealed()), Randomness.published(1), defense=GaussianNoise(2.0), sink=sink)
    assert replayed(tmp_path / "run").run.notes[1].endswith("the transcript itself declares gaussian-noise(sigma=2.0)")


CSV = "id,label,fintech:a,fintech:b\n1,0,0.5,1\n2,1,0.25,3\n"


def bare(folder: Path) -> Path:
    with Recorder(folder, {"bank": "active", "fintech": "passive"}) as recorder:
        recorder.message("train.batch", "bank", None, np.array([1, 2]), round=0)
    return folder


def test_a_truth_in_csv(tmp_path):
    (tmp_path / "truth.csv").write_text(CSV)
    truth = replayed(bare(tmp_path / "c"), tmp_path / "truth.csv").run.truth
    assert truth.of(Secret(SecretKind.LABELS, "bank")).values.tolist() == [[0], [1]]
    features = truth.of(Secret(SecretKind.FEATURES, "fintech"))
    assert (features.columns, features.ids.tolist()) == (("a", "b"), [1, 2])
    assert features.values.tolist() == [[0.5, 1], [0.25, 3]]


def test_columns_that_the_transcript_names_need_no_prefix_and_keep_its_order(tmp_path):
    with Recorder(tmp_path / "c", {"bank": "active", "fintech": "passive"}) as recorder:
        recorder.record("fintech", "features", np.ones((2, 2)), ids=[1, 2], columns=["b", "a"])
    (tmp_path / "truth.csv").write_text("id,a,b\n1,5,6\n2,7,8\n")
    truth = replayed(tmp_path / "c", tmp_path / "truth.csv").run.truth
    features = truth.of(Secret(SecretKind.FEATURES, "fintech"))
    assert (features.columns, features.values.tolist()) == (("b", "a"), [[6, 5], [8, 7]])


WRONG_TRUTHS = {
    "label\n1\n": "must have a column 'id'",
    "id,label\n1,0\n1,1\n": "each once",
    "id,label\n1.5,0\n": "whole numbers",
    "id,label\n1,yes\n": "'label' must hold numbers",
    "id,label\n1,\n": "a number in every row",
    "id,age\n1,3\n": "must belong to a party; write it as one of",
    "id\n1\n": "must have a column 'label', or columns",
}


@pytest.mark.parametrize("text", WRONG_TRUTHS, ids=lambda text: WRONG_TRUTHS[text])
def test_a_wrong_truth_is_told_before_anything_runs(tmp_path, text):
    (tmp_path / "truth.csv").write_text(text)
    with pytest.raises(DataError, match=WRONG_TRUTHS[text]):
        plan_captured(bare(tmp_path / "c"), tmp_path / "truth.csv")


def test_a_truth_about_others_is_told(tmp_path):
    with Recorder(tmp_path / "other", {"clinic": "active"}, truth=tmp_path / "truth") as recorder:
        recorder.truth("clinic", labels=[1], ids=[0])
    with pytest.raises(DataError, match="must be about parties of the transcript; got 'clinic'"):
        plan_captured(bare(tmp_path / "c"), tmp_path / "truth")


def test_a_truth_without_the_trained_rows_is_told(tmp_path, small):
    _, result = small
    save_truth(part(result.truth, *GIVEN), tmp_path / "truth")
    other = run(vertical({"bank": 3, "fintech": 8}, sealed(epochs=2), n_rows=30))
    with pytest.raises(DataError, match=r"for every row of train\.batch"):
        replayed(stored(other, tmp_path / "c"), tmp_path / "truth")


@pytest.mark.parametrize("first_id", [500, 10**17])
def test_a_truth_about_other_rows_is_refused(tmp_path, first_id):
    """It would make every leak look like none."""
    with Recorder(tmp_path / "capture", {"bank": "active", "fintech": "passive"}) as recorder:
        recorder.message("train.batch", "bank", None, np.array([1, 2]), round=0)
    (tmp_path / "truth.csv").write_text(f"id,label\n{first_id},0\n{first_id + 10**3},1\n")
    with pytest.raises(DataError, match=r"for every row of train\.batch.*row 1 is not there|must hold whole numbers"):
        plan_captured(tmp_path / "capture", tmp_path / "truth.csv")


def test_labels_of_a_model_of_two_classes_are_0_and_1(tmp_path, small):
    _, result = small
    folder = stored(result, tmp_path / "run")
    labels = result.truth.of(Secret(SecretKind.LABELS, "bank"))
    signs = [f"{row},{int(2 * value - 1)}" for row, value in zip(labels.ids, labels.values[:, 0], strict=True)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label", *signs]))
    with pytest.raises(DataError, match="the labels of bank must be 0 and 1, as of a model of two classes; got -1"):
        replayed(folder, tmp_path / "truth.csv")
