"""Steps I and II of CAFE as linear systems, on gradients that are made from known rows."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.batch_indicators import Batches, unmixed
from fedleak.attacks.networks.layer_gradients import LayerGradient
from fedleak.attacks.networks.separated_rows import SPANS, by_spans, by_sums
from fedleak.attacks.networks.shared_subspaces import batches_needed


def dealt(n_rows, size, n_batches, rng, *, shuffled=True):
    if not shuffled:
        return [rng.choice(n_rows, size, replace=False) for _ in range(n_batches)]
    found = []
    while len(found) < n_batches:
        found += np.array_split(rng.permutation(n_rows), n_rows // size)
    return found[:n_batches]


def stream_of(batches, own, inputs):
    """Gradients in float32, as they are sent."""

    def stream():
        for counts in batches.counts:
            held = counts > 0
            weighted = (counts[held, None] * own[held]).astype(np.float32)
            yield LayerGradient(
                (weighted.T @ inputs[held].astype(np.float32)).astype(np.float64),
                weighted.sum(axis=0).astype(np.float64),
            )

    return stream


def errors(found, inputs):
    return np.linalg.norm(found.hidden.values - inputs, axis=1) / np.linalg.norm(inputs, axis=1)


@pytest.fixture
def rows():
    rng = np.random.default_rng(11)
    return rng, rng.normal(size=(60, 20)), rng.normal(size=(60, 30))


def test_sums_determine_every_row_with_fewer_outputs_than_rows(rows) -> None:
    """N = 60 > d_2 = 20: theorem 2 of the paper does not apply, the Schur product does."""
    rng, own, inputs = rows
    batches = Batches.of(dealt(60, 25, 90, rng, shuffled=False))
    found = by_sums(batches, stream_of(batches, own, inputs))
    assert found.determined.all()
    assert found.agrees
    assert errors(found, inputs).max() < 1e-4


def test_an_epoch_that_deals_all_rows_out_costs_a_batch_of_rank(rows) -> None:
    rng, own, _ = rows
    batches = Batches.of(dealt(60, 12, 60, rng))
    found = unmixed(batches, batches.counts @ own)
    assert found.rank == 60 - (12 - 1)
    assert not found.determined.all()


def test_spans_need_far_fewer_batches_than_rows(rows) -> None:
    rng, own, inputs = rows
    batches = Batches.of(dealt(60, 6, 50, rng))
    assert batches_needed(batches) <= 50
    found = by_spans(batches, stream_of(batches, own, inputs))
    assert found is not None
    assert found.method == SPANS
    assert found.determined.all()
    assert found.gap > 0.01
    assert errors(found, inputs).max() < 1e-4


def test_rows_that_share_all_batches_are_not_told_and_harm_nobody(rows) -> None:
    rng, own, inputs = rows
    drawn = dealt(58, 6, 60, rng)
    drawn = [np.append(batch, [58, 59]) if 0 in batch else batch for batch in drawn]  # 58 and 59 go where 0 goes
    batches = Batches.of(drawn)
    found = by_spans(batches, stream_of(batches, own, inputs))
    assert found is not None
    apart = ~np.isin(batches.ids, [0, 58, 59])
    assert not found.determined[~apart].any()
    assert found.determined[apart].all()
    assert errors(found, inputs)[apart].max() < 1e-4
    assert batches.shadowed[~apart].all()


def test_a_row_without_a_gradient_is_named_and_not_guessed(rows) -> None:
    rng, own, inputs = rows
    own[7] = 0.0
    for made in (by_spans, by_sums):
        batches = Batches.of(dealt(60, 6, 100, rng, shuffled=False))
        found = made(batches, stream_of(batches, own, inputs))
        assert found is not None
        assert found.silent.nonzero()[0].tolist() == [7]
        others = np.arange(60) != 7
        assert errors(found, inputs)[others & found.determined].max() < 1e-4
        assert "add nothing to any gradient" in found.explained()


def test_a_row_that_a_batch_holds_twice_counts_twice(rows) -> None:
    rng, own, inputs = rows
    drawn = [rng.integers(60, size=8) for _ in range(120)]
    batches = Batches.of(drawn)
    assert batches.n_repeats > 0
    found = by_sums(batches, stream_of(batches, own, inputs))
    assert found.determined.all()
    assert errors(found, inputs).max() < 1e-4
    assert "repeat within batches" in found.explained()


def test_rows_with_the_same_input_do_not_spoil_the_others(rows) -> None:
    """Of two rows with one input a batch shows the sum of their v_n alone: its span lacks a direction."""
    rng, own, inputs = rows
    inputs[1:4] = inputs[0]
    batches = Batches.of(dealt(60, 6, 80, rng))
    found = by_spans(batches, stream_of(batches, own, inputs))
    assert found is not None
    assert errors(found, inputs)[found.determined].max() < 1e-3
    assert found.determined.sum() > 55


def test_gradients_that_were_changed_do_not_agree(rows) -> None:
    rng, own, inputs = rows
    batches = Batches.of(dealt(60, 6, 100, rng, shuffled=False))
    plain = stream_of(batches, own, inputs)

    def noisy():
        noise = np.random.default_rng(3)
        for one in plain():
            yield LayerGradient(one.weight + noise.normal(size=one.weight.shape), one.bias + noise.normal(size=20))

    assert not by_sums(batches, noisy).agrees


def test_the_expected_error_bounds_the_error(rows) -> None:
    rng, own, inputs = rows
    own[:5] *= 1e-3  # rows that are nearly fitted
    batches = Batches.of(dealt(60, 6, 60, rng))
    found = by_spans(batches, stream_of(batches, own, inputs))
    assert found is not None
    told = found.determined
    assert (errors(found, inputs)[told] < np.maximum(found.hidden.expected_error[told], 1e-6)).all()
