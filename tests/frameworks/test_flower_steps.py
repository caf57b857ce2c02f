"""What Flower's clients receive and send, recorded as our steps: the attacks on horizontal training read it."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.attacks.binary.sent_products import SentProducts
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import FileFormatError, MissingFromViewError
from fedleak.core.view import View
from fedleak.frameworks.flower.flower_steps import FRACTION_BITS, SERVER, record_rounds, secagg_noise
from fedleak.recorder import Recorder
from fedleak.storage.capture_and_truth import load_capture

ETA, ROUNDS, WIDTH = 0.2, 12, 5
ROWS = {"clinic": 6, "hospital": 9}


def averaged(rng):
    """FedAvg by rows over steps on mean losses, as Flower's strategy does it; the clinic's batches change."""
    cells = {name: rng.integers(0, 2, (count, WIDTH)).astype(float) for name, count in ROWS.items()}
    signs = {name: rng.choice([-1.0, 1.0], count) for name, count in ROWS.items()}
    models, sent = [0.1 * rng.standard_normal(WIDTH)], {name: [] for name in ROWS}
    for _ in range(ROUNDS):
        for name in ROWS:
            batch = rng.permutation(ROWS[name])[:3] if name == "clinic" else slice(None)
            rows, labels = cells[name][batch], signs[name][batch]
            gradient = rows.T @ (rows @ models[-1] - labels) / len(rows)
            sent[name].append(models[-1] - ETA * gradient)
        models.append(np.average([sent[name][-1] for name in ROWS], axis=0, weights=list(ROWS.values())))
    return cells, signs, models, sent


def recorded(folder, models, sent, masked=None):
    with Recorder(
        folder,
        {**dict.fromkeys(ROWS, "active"), SERVER: "server"},
        family="horizontal-logistic",
        rounds=ROUNDS,
        shuffled=("clinic",),
        update="synchronised",
        rate_decay=0.0,
        approximation="taylor",
        fraction_bits=FRACTION_BITS,
        learning_rate=ETA,
        slope=1.0,
        target=1.0,
        averaged_loss=True,
        secure_aggregation=masked is not None,
    ) as recorder:
        record_rounds(recorder, ROWS, models, sent, masked)
    return load_capture(folder)


def test_a_curious_client_solves_for_the_others_products(tmp_path):
    cells, signs, models, sent = averaged(np.random.default_rng(3))
    capture = recorded(tmp_path / "capture", models, sent)
    guess = ColumnProducts().run(seen_by(capture, "clinic", "hospital"), rng=np.random.default_rng(0))
    rows = cells["hospital"]
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, np.column_stack([rows.T @ rows, rows.T @ signs["hospital"]]))


def seen_by(capture, party, owner):
    return View(
        (party,),
        Secret(SecretKind.COLUMN_PRODUCTS, owner),
        capture.transcript.facts,
        capture.transcript.concerning(frozenset({party})),
        {party: capture.locals.get(party, ())},
    )


def test_the_server_solves_for_one_client_s_products_in_a_plain_run(tmp_path):
    """By FedAvg's weights and the linear loss, as the facts have them; whose batches change keeps its own."""
    cells, signs, models, sent = averaged(np.random.default_rng(3))
    capture = recorded(tmp_path / "capture", models, sent)
    guess = SentProducts().run(seen_by(capture, SERVER, "hospital"), rng=np.random.default_rng(0))
    rows = cells["hospital"]
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, np.column_stack([rows.T @ rows, rows.T @ signs["hospital"]]))
    of_clinic = SentProducts().run(seen_by(capture, SERVER, "clinic"), rng=np.random.default_rng(0))
    assert of_clinic.status is not Status.RECOVERED


def test_under_masks_the_server_has_nobody_s_weights(tmp_path):
    _, _, models, sent = averaged(np.random.default_rng(3))
    rng = np.random.default_rng(0)
    masked = {name: [rng.integers(0, 1 << 32, WIDTH + 1) for _ in own] for name, own in sent.items()}
    capture = recorded(tmp_path / "capture", models, sent, masked=masked)
    steps = {message.step for message in capture.transcript.messages}
    assert "train.sent-weights" not in steps
    assert "train.masked-update" in steps
    with pytest.raises(MissingFromViewError, match="no weights that hospital sent"):
        SentProducts().run(seen_by(capture, SERVER, "hospital"), rng=rng)


def test_rounding_of_secure_sums_is_declared_as_it_is():
    """Against SecAgg+'s own arithmetic: parameters times rows / max_weight, rounded by lot, summed and divided."""
    rng, rows, most = np.random.default_rng(0), np.array([15, 15, 15]), 1000.0
    step, weights = 16.0 / 2**22, rows / most
    values = rng.uniform(-1, 1, (2000, 3))
    exact = values * weights / step
    rounded = np.floor(exact + rng.random(exact.shape)) * step
    errors = (rounded.sum(axis=1) - (values * weights).sum(axis=1)) / weights.sum()
    sums = 3 * errors  # the sum of three clients' updates, where the mean is published
    declared = secagg_noise(3, int(rows.sum()), most, 8.0, 2**22) * np.sqrt(3)
    assert 0.6 * declared < sums.std() < declared


def test_what_clients_sent_is_seen_by_the_server_alone(tmp_path):
    _, _, models, sent = averaged(np.random.default_rng(3))
    messages = recorded(tmp_path / "capture", models, sent).transcript.messages
    assert {m.receiver for m in messages if m.step == "train.sent-weights"} == {SERVER}


def test_a_round_that_is_missing_is_told(tmp_path):
    _, _, models, sent = averaged(np.random.default_rng(3))
    sent["hospital"].pop()
    with pytest.raises(FileFormatError, match="hospital must have sent weights in each of 12 rounds; got 11"):
        recorded(tmp_path / "capture", models, sent)
    assert list(tmp_path.iterdir()) == []
