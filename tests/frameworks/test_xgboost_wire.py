"""Messages of XGBoost, decoded by position and recorded as steps of ours; damaged ones are one clear line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from xgboost_messages import Wire, offer

from fedleak.attacks.boosting.offered_splits import OfferedIntervals
from fedleak.attacks.boosting.sample_gradients import SampleGradients
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import EVERYONE
from fedleak.core.view import View
from fedleak.frameworks.xgboost.xgboost_trees import TreeRecording
from fedleak.frameworks.xgboost.xgboost_wire import events
from fedleak.recorder import Recorder
from fedleak.storage.capture_and_truth import load_capture

N = 10
CELLS = np.linspace(0.05, 0.95, N)  # of the partner's second column; every third one is missing where wanted
LABELS = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 5.0, 3.5, 5.8])
IDS = np.arange(100, 100 + N)


def wire(*, missing: bool = False) -> Wire:
    """One tree of two levels, both split by the partner's column 1, the fourth of all."""
    base = float(np.float32(LABELS.mean()))
    g, h = base - LABELS, np.ones(N)
    lost = np.arange(N) % 3 == 2 if missing else np.zeros(N, dtype=bool)
    root = (CELLS < 0.5) & ~lost
    whole = np.where(lost, True, root)  # missing cells go left
    inner = (CELLS < 0.25) & whole & ~lost
    found = Wire()
    found.learner(base)
    found.metric(1.25)
    found.gradients(np.stack([g, h], axis=1)[:, None])
    found.offers(
        0, [[offer(0, 1, 7.0, 0.5, g, h, whole)], [offer(0, 3 | 1 << 31 if missing else 3, 0.5, 2.0, g, h, whole)]]
    )
    found.routing(root, lost)
    found.offers(
        1,
        [
            [offer(1, 0, 1.0, 0.0, g, h, inner), offer(2, 0, 1.0, 0.0, g, h, inner)],
            [offer(1, 3, 0.25, 1.0, g, h, inner), offer(2, 2, 0.0, 0.0, g, h, inner)],
        ],
    )
    found.routing(inner, lost & whole)
    found.metric(0.75)
    return found


def captured(exchanges, folder):
    roles = {"bank": "active", "fintech": "passive", "aggregator": "server"}
    with Recorder(
        folder, roles, family="boosting", objective="squared", label_epsilon=0.0, n_features={"bank": 2, "fintech": 2}
    ) as recorder:
        TreeRecording(recorder, ("bank", "fintech"), (2, 2), IDS).take(events(exchanges, N))
    return load_capture(folder).transcript


def view_of(transcript, kind, owner):
    return View(("aggregator",), Secret(kind, owner), transcript.facts, list(transcript.messages), {})


def test_labels_and_intervals_of_a_training_that_was_recorded(tmp_path):
    transcript = captured(wire().exchanges, tmp_path / "capture")
    guess = SampleGradients().run(view_of(transcript, SecretKind.LABELS, "bank"), rng=np.random.default_rng(0))
    assert np.allclose(guess.values[:, 0], LABELS, atol=1e-6)
    assert guess.ids.tolist() == IDS.tolist()
    found = OfferedIntervals().run(view_of(transcript, SecretKind.RANGES, "fintech"), rng=np.random.default_rng(0))
    low, high = found.intervals[:, 1, 0], found.intervals[:, 1, 1]
    assert np.isinf(found.intervals[:, 0]).all()
    assert ((low <= CELLS) & (high >= CELLS)).all()
    assert low[3] == pytest.approx(0.25, abs=1e-6)
    assert high[3] == pytest.approx(0.5, abs=1e-6)


def test_a_missing_cell_is_bounded_by_nothing(tmp_path):
    transcript = captured(wire(missing=True).exchanges, tmp_path / "capture")
    found = OfferedIntervals().run(view_of(transcript, SecretKind.RANGES, "fintech"), rng=np.random.default_rng(0))
    told = {int(row): interval for row, interval in zip(found.ids, found.intervals[:, 1], strict=True)}
    present = np.arange(N) % 3 != 2
    assert set(told) == set(IDS[present].tolist())
    assert all(told[100 + i][0] <= CELLS[i] <= told[100 + i][1] for i in np.flatnonzero(present))


def test_every_message_is_public(tmp_path):
    transcript = captured(wire().exchanges, tmp_path / "capture")
    assert {message.receiver for message in transcript.messages} == {EVERYONE}


@pytest.mark.parametrize("kept", [6, 12])
def test_a_truncated_recording_is_one_line_and_leaves_nothing(tmp_path, kept):
    short = wire().exchanges[:kept]
    short[-1] = replace(short[-1], reply=short[-1].reply[:-3])
    with pytest.raises(FileFormatError, match="breaks off"):
        captured(short, tmp_path / "capture")
    assert list(tmp_path.iterdir()) == []


def test_a_recording_without_trees_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="it holds none"):
        captured(wire().exchanges[:1], tmp_path / "capture")
    assert list(tmp_path.iterdir()) == []


def test_bits_of_another_training_do_not_pass(tmp_path):
    """The sums that were announced are those of the rows that went left, or the recording is not what it seems."""
    found = wire()
    turned = Wire()
    turned.routing(CELLS > 0.5, np.zeros(N, dtype=bool))
    exchanges = [*found.exchanges[:10], *turned.exchanges, *found.exchanges[12:]]
    assert exchanges[9].method == "AllgatherV"
    with pytest.raises(FileFormatError, match="must have the sums that were announced"):
        captured(exchanges, tmp_path / "capture")


def test_three_classes_have_a_tree_each(tmp_path):
    labels = np.arange(N) % 3
    g = np.full((N, 3), 1 / 3) - (labels[:, None] == np.arange(3))
    pairs = np.stack([g, np.full((N, 3), 0.4)], axis=2)
    found = Wire()
    found.learner(0.5, num_class=3)
    found.gradients(pairs)
    left = CELLS < 0.5
    for score in range(3):
        found.offers(0, [[], [offer(0, 3, 0.5, 1.0, g[:, score], np.full(N, 0.4), left)]])
        found.routing(left, np.zeros(N, dtype=bool))
    transcript = captured(found.exchanges, tmp_path / "capture")
    facts = replace(transcript.facts, own=replace(transcript.facts.own, objective="softmax", n_classes=3))
    view = replace(view_of(transcript, SecretKind.LABELS, "bank"), facts=facts)
    guess = SampleGradients().run(view, rng=np.random.default_rng(0))
    assert guess.values[:, 0].tolist() == labels.tolist()


def test_a_cell_that_is_a_threshold_but_for_rounding_stays_inside(tmp_path):
    """XGBoost compares in single precision: a threshold may be a cell rounded up, and the cell itself lies below."""
    single = CELLS.astype(np.float32)
    edge = int(np.flatnonzero(single.astype(np.float64) > CELLS)[0])
    base = float(np.float32(LABELS.mean()))
    g, h, left = base - LABELS, np.ones(N), single < single[edge]
    found = Wire()
    found.learner(base)
    found.gradients(np.stack([g, h], axis=1)[:, None])
    found.offers(0, [[], [offer(0, 3, float(single[edge]), 1.0, g, h, left)]])
    found.routing(left, np.zeros(N, dtype=bool))
    transcript = captured(found.exchanges, tmp_path / "capture")
    told = OfferedIntervals().run(view_of(transcript, SecretKind.RANGES, "fintech"), rng=np.random.default_rng(0))
    assert not left[edge]
    assert CELLS[edge] < single[edge]
    assert ((told.intervals[:, 1, 0] <= CELLS) & (told.intervals[:, 1, 1] >= CELLS)).all()
