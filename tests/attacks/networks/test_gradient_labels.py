"""Labels from the gradients that a split network sends back: what tells them, and what does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run
from fedleak.attacks.networks.gradient_labels import GradientClustering, GradientDirectionLabels, GradientNormLabels
from fedleak.attacks.networks.received_gradients import row_gradients
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.whole.federation import Federation
from network_runs import cut_pictures, cut_table, split

pytest.importorskip("torch")

TARGET = Secret(SecretKind.LABELS, "bank")
TRAINED = {"trained": True, "batches": "shuffled", "rounds": 30, "batch_size": 12, "learning_rate": 0.3}


def with_labels(federation: Federation, labels) -> Federation:
    first, *others = federation.parties
    return replace(federation, parties=(replace(first, train=replace(first.train, labels=labels)), *others))


@pytest.fixture(scope="module")
def rare():
    """A twelfth of the labels is 1, and nothing in the columns says which."""
    labels = (np.arange(48) % 12 == 5).astype(np.int64)
    return run(with_labels(split(cut_table(n_rows=48, **TRAINED)), labels)), labels


def view_of(result):
    return result.view(("fintech",), TARGET, result.transcript.facts)


@pytest.mark.parametrize("attack", [GradientNormLabels(), GradientDirectionLabels(), GradientClustering()])
def test_rare_labels_come_out(attack, rare) -> None:
    result, labels = rare
    guess = attack.run(view_of(result), rng=np.random.default_rng(0))
    told = guess.values[:, 0] if not attack.up_to else np.abs(guess.values[:, 0] - guess.values[0, 0])
    assert guess.ids.tolist() == list(result.truth.of(TARGET).ids)
    assert told.tolist() == labels.tolist()


def test_gradients_are_those_of_single_rows_along_one_line(rare) -> None:
    seen = row_gradients(view_of(rare[0]))
    assert set(np.bincount(seen.row)) == {7, 8}  # 30 batches of 12 among 48 rows
    for start, end in zip((0, *seen.ends[:-1]), seen.ends, strict=True):
        assert np.linalg.matrix_rank(seen.gradients[start:end], tol=1e-5) == 1
    assert seen.lengths.max() < 2  # of a row's loss, not of the batch's mean: at most sqrt(2) times the top's weights


def test_three_classes_are_clustered_and_not_told_by_one_figure() -> None:
    result = run(split(cut_pictures(n_rows=12, **{**TRAINED, "batch_size": 6, "rounds": 8})))
    view, rng = view_of(result), np.random.default_rng(0)
    guess = GradientClustering().run(view, rng=rng)
    named = [tuple(np.unique(guess.values[guess.ids % 3 == kind])) for kind in range(3)]
    assert sorted(named) == [(0.0,), (1.0,), (2.0,)]
    for attack in (GradientNormLabels(), GradientDirectionLabels()):
        refused = attack.run(view, rng=rng)
        assert refused.status is Status.UNDETERMINED
        assert refused.why.startswith("two classes must be there")
