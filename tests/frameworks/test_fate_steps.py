"""What FATE's parties push, read and recorded as our steps: the attacks on vertical training read it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frameworks.fate_messages import (
    ARBITER,
    HOLDER,
    MODULUS,
    PARTNER,
    FateRun,
    write,
    written_number,
    written_vector,
)

from fedleak.attacks.residuals.ciphertext_sign import CiphertextSign
from fedleak.attacks.residuals.residual_recovery import ResidualRecovery
from fedleak.attacks.residuals.unblinded_exchange import UnblindedScores
from fedleak.attacks.residuals.unblinded_labels import UnblindedLabels
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import FileFormatError
from fedleak.core.view import View
from fedleak.frameworks.fate.fate_ciphertexts import as_ciphertexts, read_modulus, read_vector
from fedleak.protocols.captured.captured import opened
from fedleak.protocols.captured.inference import inferred
from fedleak.storage.capture_and_truth import load_capture

VALUES = np.array([0.7, -0.7, 0.0, -123.25, 1e-9], dtype=np.float32)


def recorded(folder, run: FateRun, *, linear=False):
    write(run, folder, linear=linear)
    return load_capture(folder)


def guess(attack, capture, party, kind, owner):
    messages = capture.transcript.concerning(frozenset({party}))
    view = View((party,), Secret(kind, owner), capture.transcript.facts, messages, {party: capture.locals[party]})
    return attack().run(view, rng=np.random.default_rng(0))


def test_a_vector_is_read_with_its_signs_and_exponents():
    found = as_ciphertexts([written_vector(VALUES[:2]), written_vector(VALUES[2:])])
    assert found.signs.tolist() == [1, -1, 1, -1, 1]  # of a zero that is not blinded the ciphertext is 1
    plain = [
        (int(sign) * int(number) - 1) // MODULUS * 16.0 ** int(exponent)
        for sign, number, exponent in zip(found.signs, found.values, found.exponents, strict=True)
    ]
    assert plain == VALUES.tolist()
    assert read_modulus(written_number(MODULUS) + written_number(MODULUS**2)) == MODULUS


@pytest.mark.parametrize("kept", [0, 7, 19, 25, 200, -1])
def test_a_vector_that_is_cut_short_is_one_line(kept):
    with pytest.raises(FileFormatError, match="ciphertexts of FATE end too early"):
        read_vector(written_vector(VALUES)[:kept])


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\xff" * 8, "18446744073709551615 were to follow"),
        (b"\x01" + b"\0" * 7 + b"\x02\0\0\0" + b"\x01" + b"\0" * 7 + b"1", "text in base 10 or 16; got base 2"),
        (b"\x01" + b"\0" * 7 + b"\x0a\0\0\0" + b"\x01" + b"\0" * 7 + b"x\0\0\0\0", "text in base 10; got b'x'"),
        (written_vector(VALUES) + b"\0", "must end after 5; more bytes follow"),
    ],
)
def test_bytes_of_another_kind_are_one_line(data, told):
    with pytest.raises(FileFormatError, match=told):
        read_vector(data)


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    run = FateRun()
    return run, recorded(tmp_path_factory.mktemp("fate") / "capture", run)


def test_the_partners_scores_open(capture):
    run, found = capture
    opened_scores = guess(UnblindedScores, found, HOLDER, SecretKind.PARTIAL_SCORES, PARTNER)
    assert opened_scores.status is Status.RECOVERED
    assert opened_scores.certificate
    weights = {r.round + 1: r.value.values for r in found.locals[PARTNER] if r.name == "weights"}
    for (number, row), score in zip(opened_scores.ids.tolist(), opened_scores.values[:, 0].tolist(), strict=True):
        assert score == pytest.approx(run.cells[PARTNER][row - 100] @ weights[number], abs=1e-5)
    assert len(opened_scores.ids) == 2 * len(run.ids)


def test_labels_open_where_the_holders_scores_are_small(capture):
    run, found = capture
    assert np.abs(run.cells[HOLDER] @ run.first[HOLDER]).max() < 2
    labels = guess(UnblindedLabels, found, PARTNER, SecretKind.LABELS, HOLDER)
    assert dict(zip(labels.ids.tolist(), labels.values[:, 0].tolist(), strict=True)) == dict(
        zip(run.ids.tolist(), run.labels.tolist(), strict=True)
    )


def test_labels_of_blinded_ciphertexts_follow_from_their_signs(tmp_path):
    """Of parts of 1 and more, which exponents tell, the attack is surer, and more of their labels are right."""
    run = FateRun(n_rows=200, batch=200, epochs=1, blinded=True, widths=(6, 2), scale=1.0)
    found = guess(CiphertextSign, recorded(tmp_path / "capture", run), PARTNER, SecretKind.LABELS, HOLDER)
    parts = 0.25 * (run.cells[HOLDER] @ run.first[HOLDER]) - 0.5 * (2 * run.labels - 1)
    assert found.status is Status.PARTIAL
    assert found.values[:, 0].tolist() == (parts < 0).tolist()
    right, surest = found.values[:, 0] == run.labels, found.confidence[:, 0] == found.confidence.max()
    assert surest.tolist() == (np.abs(parts) >= 1).tolist()
    assert right[surest].mean() > right[~surest].mean() > 0.5
    assert not len(guess(UnblindedLabels, recorded(tmp_path / "again", run), PARTNER, SecretKind.LABELS, HOLDER).ids)


def last_bits(folder, epochs, seed):
    run = FateRun(n_rows=40, batch=40, epochs=epochs, widths=(6, 2), scale=2.0, seed=seed)
    assert np.median(np.abs(run.cells[HOLDER] @ run.first[HOLDER])) > 1
    found = guess(UnblindedLabels, recorded(folder / f"{seed}-{epochs}", run), PARTNER, SecretKind.LABELS, HOLDER)
    return found, found.values[:, 0] == run.labels


def test_labels_of_large_scores_follow_from_the_last_bits(tmp_path):
    """Four times the size at which signs tell labels; twenty epochs, as many as FATE runs unless told otherwise. How
    single precision rounds a sum hangs on the processor, so single runs differ: four of them together."""
    shares, first_shares = [], []
    for seed in range(4, 8):
        found, right = last_bits(tmp_path, 20, seed)
        told = found.confidence[:, 0] > 1 - 1e-6
        assert right[told].all()
        assert told.sum() == found.evidence["rows told by last bits"] > 15
        shares.append(right.mean())
        first_shares.append(last_bits(tmp_path, 1, seed)[1].mean())
    assert np.mean(shares) >= 0.85
    assert np.mean(shares) > np.mean(first_shares) + 0.1


def test_gradients_and_weights_are_those_of_the_training(tmp_path):
    """Eight rows a batch, nine columns: our solve for residuals reads the capture as it is."""
    run = FateRun(widths=(2, 9))
    found = recorded(tmp_path / "capture", run)
    solved = guess(ResidualRecovery, found, PARTNER, SecretKind.RESIDUALS, "*")
    weights = {
        name: {r.round + 1: r.value.values for r in found.locals[name] if r.name == "weights"} for name in run.cells
    }
    assert len(solved.ids) == 2 * len(run.ids)
    for (number, row), residual in zip(solved.ids.tolist(), solved.values[:, 0].tolist(), strict=True):
        score = sum(run.cells[name][row - 100] @ weights[name][number] for name in run.cells)
        assert residual == pytest.approx(0.25 * score - 0.5 * (2 * run.labels[row - 100] - 1), abs=1e-3)


def test_a_linear_model_opens_as_well(tmp_path):
    run = FateRun(linear=True, n_rows=8, epochs=1)
    found = recorded(tmp_path / "capture", run, linear=True)
    scores = guess(UnblindedScores, found, HOLDER, SecretKind.PARTIAL_SCORES, PARTNER)
    assert np.allclose(scores.values[:, 0], run.cells[PARTNER] @ run.first[PARTNER], atol=1e-5)


def test_blinded_ones_do_not_open(tmp_path):
    found = recorded(tmp_path / "capture", FateRun(blinded=True))
    for attack, party, kind, owner in (
        (UnblindedScores, HOLDER, SecretKind.PARTIAL_SCORES, PARTNER),
        (UnblindedLabels, PARTNER, SecretKind.LABELS, HOLDER),
    ):
        assert guess(attack, found, party, kind, owner).status is Status.UNDETERMINED


def test_batches_are_known_to_both_and_not_to_the_arbiter(tmp_path):
    recorded(tmp_path / "capture", FateRun())
    found = opened(str(tmp_path / "capture"))
    facts = found.captured.transcript.facts
    known = {
        name for name in (HOLDER, PARTNER, ARBITER) if Capability.BATCH_IDS in inferred(found.holdings, facts, (name,))
    }
    assert known == {HOLDER, PARTNER}


def test_what_has_no_step_of_ours_keeps_its_name(capture):
    steps = {message.step for message in capture[1].transcript.messages}
    assert {"fate.batch_num", "fate.converge_flag"} <= steps
    assert "fate.batch_indexes" not in steps


def test_one_batch_of_all_rows_names_none(tmp_path):
    run = FateRun(n_rows=8, batch=8)
    run.pushed = [one for one in run.pushed if one.name != "batch_indexes"]
    batches = [m for m in recorded(tmp_path / "capture", run).transcript.messages if m.step == "train.batch"]
    assert [m.payload.values.tolist() for m in batches] == 2 * [run.ids.tolist()]


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("batch_num", "must say how many batches"),
        ("batch_indexes", "must name the rows of all 3 batches"),
        ("g", "must hold a step for bank in every round; round 0 has none"),
    ],
)
def test_a_recording_with_a_gap_is_refused_and_leaves_nothing(tmp_path, missing, told):
    run = FateRun()
    run.pushed = [one for one in run.pushed if one.name != missing]
    with pytest.raises(FileFormatError, match=told):
        recorded(tmp_path / "capture", run)
    assert list(tmp_path.iterdir()) == []
