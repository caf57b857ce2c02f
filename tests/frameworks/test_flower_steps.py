"""What Flower's clients receive and send, recorded as our steps: the attacks on horizontal training read it."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import FileFormatError
from fedleak.core.view import View
from fedleak.frameworks.flower.flower_steps import FRACTION_BITS, SERVER, rate_of, record_rounds
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


def recorded(folder, models, sent):
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
        learning_rate=rate_of(len(ROWS), sum(ROWS.values()), ETA),
    ) as recorder:
        record_rounds(recorder, ROWS, models, sent)
    return load_capture(folder)


def test_a_curious_client_solves_for_the_others_products(tmp_path):
    cells, signs, models, sent = averaged(np.random.default_rng(3))
    capture = recorded(tmp_path / "capture", models, sent)
    view = View(
        ("clinic",),
        Secret(SecretKind.COLUMN_PRODUCTS, "hospital"),
        capture.transcript.facts,
        capture.transcript.concerning(frozenset({"clinic"})),
        {"clinic": capture.locals["clinic"]},
    )
    guess = ColumnProducts().run(view, rng=np.random.default_rng(0))
    rows = cells["hospital"]
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, np.column_stack([rows.T @ rows, rows.T @ signs["hospital"]]))


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
