"""What a defense or a deviation can replace: bins, what is encrypted, what is opened, the choice of a split."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, model_of
from federations import run
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.whole.hooks import Hook, HookKind
from fedleak.models.boosting.growth import Choice, Decision, Gradients, Sums, best_choice
from fedleak.models.boosting.packed_gradients import Opened, ToEncrypt
from fedleak.protocols.boosting import vocabulary as boosting

TWO = {"bank": 1, "fintech": 4}


def hook(step, act, party: str = "bank") -> Hook:
    return Hook(step, HookKind.COMPUTE, party, act)


def test_a_bit_a_row_tells_the_bins_and_announces_the_same_splits():
    """A label holder that encrypts 2^i in place of g and h reads off which rows are in each sum (Weng et al.)."""
    seen: list[list[int]] = []

    def bit_a_row(gradients: Gradients, _local, _rng) -> ToEncrypt:
        return ToEncrypt(([1 << row for row in range(int(gradients.sampled.sum()))],), slot_bits=1023)

    def read_off(opened: Opened, local, _rng) -> Sums:
        own = local.latest(boosting.OWN_GRADIENTS).items
        seen.append(opened.residues)
        masks = np.array([[residue >> row & 1 for row in range(60)] for residue in opened.residues], dtype=np.int64)
        return Sums(masks @ own["g"].values, masks @ own["h"].values)

    federation = boosted(TWO, n_trees=1)
    honest = run(federation)
    found = run(federation, hooks=(hook(boosting.GRADIENTS, bit_a_row), hook(boosting.OPENED_SUMS, read_off)))
    assert np.array_equal(model_of(found).weight, model_of(honest).weight)
    assert np.array_equal(model_of(found).threshold, model_of(honest).threshold, equal_nan=True)
    columns = next(m for m in found.transcript.messages if m.step == boosting.CANDIDATES.name).payload.values
    bins = found.truth.of(Secret(SecretKind.BINS, "fintech")).values
    for column in range(4):  # in how many of a column's left sets a row is: its bin, counted from the right
        sets = [residue for residue, about in zip(seen[0], columns, strict=True) if about == column]
        counted = np.array([sum(residue >> row & 1 for residue in sets) for row in range(60)])
        assert np.array_equal(counted, len(sets) - bins[:, column])


def test_thresholds_can_be_moved():
    def nearby(features: np.ndarray, _local, rng) -> tuple[np.ndarray, ...]:
        return tuple(np.sort(np.quantile(column, [0.3, 0.6]) + 0.01 * rng.standard_normal()) for column in features.T)

    found = run(boosted(TWO), hooks=(hook(boosting.BINS, nearby, party="fintech"),))
    splits = next(record.value for record in found.locals["fintech"] if record.name == "splits").values
    edges = next(record.value for record in found.locals["fintech"] if record.name == "bin-thresholds").items
    assert {len(thresholds.values) for thresholds in edges.values()} == {2}
    assert np.isin(splits[:, 3], np.concatenate([thresholds.values for thresholds in edges.values()])).all()


@pytest.mark.parametrize("fewest", [0, 50])
def test_splits_can_be_refused(fewest):
    def of_enough_rows(decision: Decision, _local, _rng) -> Choice | None:
        return best_choice(decision) if len(decision.rows) >= fewest else None

    found = run(boosted(TWO), hooks=(hook(boosting.CHOOSE, of_enough_rows),))
    told = [m.payload.items for m in found.transcript.messages if m.step == boosting.ROUTING.name]
    sizes = [np.unique(items["nodes"].values, return_counts=True)[1].min() for items in told]
    assert sizes
    assert (min(sizes) >= 50) == (fewest == 50)
