"""Inner products and records from the view of one party of a horizontal federation."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.binary_records import BinaryRecords
from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.attacks.binary.completed_rows import binary_columns, bounds_from_binary, labels_of_rows
from fedleak.attacks.binary.observations import observations
from fedleak.attacks.binary.observed_products import observed_products
from fedleak.core.adversary import Secret
from fedleak.core.attack import Status, Verdict
from fedleak.core.knowledge import Knowledge
from fedleak.defenses.inexact_sharing import SelectiveSharing, UpdateNoise
from fedleak.metrics.cell_metrics import CellsRecovered
from fedleak.metrics.metric import Answered
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from horizontal import binary, federation, train, view_of


def attacked(attack, tables, settings, coalition=("hospital",), target="clinic", defense=None, seed=1):
    fed = federation(tables, settings)
    hooks = defense.hooks(fed) if defense else ()
    result = train(fed, hooks=hooks, seed=seed, defense=defense)
    view = view_of(result, coalition, Secret(attack.produces, target))
    guess = attack().run(view, rng=np.random.default_rng(0))
    return guess, result.truth.of(Secret(attack.produces, target))


def share_right(guess, truth) -> float:
    answered = Answered(guess, truth, Knowledge(), BinaryRecords.up_to)
    return CellsRecovered().score(answered, rng=np.random.default_rng(0)).value


def settings(**changes) -> HorizontalLogisticSettings:
    return HorizontalLogisticSettings(**{"rounds": 40, "batch_size": 8, "shuffled": ("hospital",), **changes})


TWO = {"hospital": binary(40, 12, 1), "clinic": binary(8, 12, 2)}


def test_inner_products_are_exact():
    guess, truth = attacked(ColumnProducts, TWO, settings())
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, truth.values)
    assert guess.certificate.startswith("27 rounds more than unknowns agree on one symmetric table")


def test_products_that_are_no_whole_numbers_or_noisy_are_not_proved():
    """Few real numbers are told from luck by their precision; of noise and decay the rounds alone say too little."""
    measured = {name: rows + 0.25 * (rows > 0) for name, rows in TWO.items()}
    guess, _ = attacked(ColumnProducts, measured, settings())
    assert guess.status is Status.RECOVERED
    assert guess.certificate == ""
    noisy, _ = attacked(ColumnProducts, TWO, settings(), defense=UpdateNoise(sigma=1e-9))
    assert noisy.certificate == ""
    shuffled, _ = attacked(ColumnProducts, TWO, settings(shuffled=("hospital", "clinic"), batch_size=4))
    assert shuffled.certificate == ""


def test_records_and_labels_are_recovered_with_a_certificate():
    guess, truth = attacked(BinaryRecords, TWO, settings())
    assert guess.status is Status.RECOVERED
    assert "generate" in guess.why
    assert share_right(guess, truth) == 1.0


def test_a_small_victim_of_a_large_adversary_is_predicted_as_it_comes_out():
    """The adversary's 40 rows make five batches, which would need 65 rounds; the victim's 8 make one, and 40 do."""
    result = train(federation(TWO, settings()))
    view = view_of(result, ("hospital",), Secret(BinaryRecords.produces, "clinic"))
    prediction = BinaryRecords.predict(view.facts)
    assert prediction.verdict is Verdict.UNKNOWN
    assert not any("fails" in reason for reason in prediction.reasons)
    guess = BinaryRecords().run(view, rng=np.random.default_rng(0))
    assert guess.status is Status.RECOVERED


def test_several_parties_are_recovered_together():
    tables = {"hospital": binary(40, 16, 1), "clinic": binary(6, 16, 2), "lab": binary(4, 16, 3)}
    guess, truth = attacked(BinaryRecords, tables, settings(), target="clinic+lab")
    assert guess.status is Status.RECOVERED
    assert share_right(guess, truth) == 1.0


def test_two_that_collude_see_the_third_alone():
    tables = {**TWO, "lab": binary(5, 12, 3)}
    guess, truth = attacked(BinaryRecords, tables, settings(), coalition=("hospital", "clinic"), target="lab")
    assert guess.status is Status.RECOVERED
    assert share_right(guess, truth) == 1.0


def test_batches_that_take_turns_are_solved_one_by_one():
    tables = {"hospital": binary(40, 12, 1), "clinic": binary(16, 12, 2)}
    guess, truth = attacked(BinaryRecords, tables, settings(rounds=80))
    assert guess.evidence["groups of rows"] == 2
    assert share_right(guess, truth) == 1.0


def test_collinear_models_leave_records_open_and_the_rank_is_given():
    guess, _ = attacked(BinaryRecords, TWO, settings(batch_size=0, rounds=60))
    assert guess.status is Status.UNDETERMINED
    assert "filled" not in guess.why
    assert guess.evidence["rank"] < guess.evidence["rank needed"] == 13
    assert not np.isfinite(guess.values).any()


def test_columns_that_are_equal_everywhere_count_as_one():
    doubled = {name: np.column_stack([rows, rows[:, :2]]) for name, rows in TWO.items()}
    guess, truth = attacked(BinaryRecords, doubled, settings())
    assert guess.evidence["rank needed"] == 13
    assert guess.status is Status.RECOVERED
    assert share_right(guess, truth) == 1.0


@pytest.mark.parametrize("update", ["synchronised", "asynchronised"])
def test_too_few_rounds_tell_a_part(update):
    """What is told is nearer to the truth than nothing, and is no whole number by rounding."""
    guess, truth = attacked(ColumnProducts, TWO, settings(rounds=12, update=update))
    assert guess.status is Status.PARTIAL
    assert "12 rounds span 12 of the 13" in guess.why
    assert "12 of 13 directions are determined" in guess.why
    assert np.linalg.norm(guess.values - truth.values) < 0.5 * np.linalg.norm(truth.values)
    assert np.abs(guess.values - truth.values).max() > 1e-3


def test_what_a_few_rounds_tell_is_exact_along_their_models():
    result = train(federation(TWO, settings(rounds=4)))
    view = view_of(result, ("hospital",), Secret(ColumnProducts.produces, "clinic"))
    seen, truth = observations(view), result.truth.of(view.target).values
    fit = observed_products(seen, np.random.default_rng(0))[0].fit
    design = np.column_stack([seen.models / 4, np.full(4, -0.5)])
    assert fit.rank == 4
    np.testing.assert_allclose(design @ fit.slope.T, design @ truth.T, atol=1e-6)


def test_local_steps_give_the_sum_of_all_batches():
    tables = {"hospital": binary(40, 12, 1), "clinic": binary(10, 12, 2)}
    slow = settings(update="asynchronised", batch_size=5, learning_rate=0.02, fraction_bits=44)
    guess, truth = attacked(BinaryRecords, tables, slow)
    assert guess.status is Status.RECOVERED
    assert share_right(guess, truth) == 1.0


def test_local_steps_of_several_parties_at_a_small_rate():
    tables = {"hospital": binary(40, 10, 1), "clinic": binary(8, 10, 2), "lab": binary(8, 10, 3)}
    slow = settings(update="asynchronised", batch_size=4, learning_rate=0.003, fraction_bits=46)
    guess, truth = attacked(ColumnProducts, tables, slow, target="clinic+lab")
    assert np.array_equal(guess.values[:, :-1], truth.values[:, :-1])


def test_a_decaying_rate_is_extrapolated():
    tables = {"hospital": binary(40, 8, 1), "clinic": binary(12, 8, 2)}
    fast = settings(
        update="asynchronised", batch_size=4, learning_rate=0.1, rate_decay=0.05, rounds=160, fraction_bits=46
    )
    guess, truth = attacked(ColumnProducts, tables, fast)
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values[:, :-1], truth.values[:, :-1])


def test_shuffled_batches_are_told_from_fixed_ones():
    tables = {"hospital": binary(40, 12, 1), "clinic": binary(16, 12, 2)}
    guess, _ = attacked(BinaryRecords, tables, settings(shuffled=("hospital", "clinic"), rounds=80))
    assert guess.status is Status.UNDETERMINED
    assert "rows change from round to round" in guess.why


def test_noise_is_told():
    guess, _ = attacked(BinaryRecords, TWO, settings(), defense=UpdateNoise(sigma=0.01, parties=("clinic",)))
    assert guess.status is Status.UNDETERMINED
    assert "cannot be rounded" in guess.why


def test_selective_sharing_costs_the_attacker_rounds_only():
    sharing = SelectiveSharing(fraction=0.7, parties=("clinic",))
    guess, truth = attacked(ColumnProducts, TWO, settings(rounds=400, learning_rate=0.05), defense=sharing)
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, truth.values)


def test_number_columns_are_told_apart_and_solved_from_the_binary_ones():
    rng = np.random.default_rng(0)
    mixed = {name: np.column_stack([rows, rng.normal(2.3, 1.1, (len(rows), 2))]) for name, rows in TWO.items()}
    guess, truth = attacked(BinaryRecords, mixed, settings(rounds=60, fraction_bits=48))
    assert guess.status is Status.RECOVERED
    assert "12 of 14 columns are binary" in guess.why
    assert share_right(guess, truth) == 1.0


def test_a_table_without_binary_columns_is_told():
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=rows.shape) for name, rows in TWO.items()}
    guess, _ = attacked(BinaryRecords, numbers, settings(rounds=60))
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert "no column is binary" in guess.why


def test_bounds_hold_where_the_binary_columns_do_not_determine():
    rows = binary(6, 3, 1).astype(np.int64)
    z = np.array([0.5, -1.0, 2.0, 0.3, 0.0, 1.5])
    bounds = bounds_from_binary(rows, (rows.T @ z)[:, None], np.array([z @ z]))
    assert not bounds.determined
    assert (np.abs(bounds.middle[:, 0] - z) <= bounds.radius[:, 0] + 1e-9).all()


def test_columns_whose_counts_contradict_are_dropped():
    x = np.array([[1, 0, 3], [0, 1, 2], [1, 1, 0], [0, 0, 1]], dtype=float)
    assert binary_columns(x.T @ x, 4, 1e-6).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_equal_rows_come_out_in_the_right_number(seed):
    rng = np.random.default_rng(seed)
    rows = np.maximum(np.triu(rng.integers(0, 2, (5, 9)), 1), np.eye(5, 9, dtype=int))[[0, 0, 1, 2, 3, 4]]
    labels = rng.integers(0, 2, 6)
    found = labels_of_rows(rows, (rows.T @ (2 * labels - 1)).astype(float))
    assert np.array_equal(np.sort(found[:2]), np.sort(labels[:2]))
    assert np.array_equal(found[2:], labels[2:])
