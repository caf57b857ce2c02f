"""Verdicts that once said "exact" and failed, or "impossible" and leaked; each with the property behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import horizontal
from federations import sealed, vertical
from fedleak.attacks import ATTACKS
from fedleak.auditing.planner import plan_check
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.defenses.changed_settings import LargerBatch
from fedleak.defenses.inexact_sharing import SelectiveSharing
from fedleak.deviations.packed_products import PackedProducts
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.testing.claims import wrong_cells
from fedleak.theory.condition import State
from fedleak.theory.packed_equations import enough_slots
from fedleak.theory.residual_equations import batch_within_columns
from fedleak.trial.play import play
from scenarios import SMALL, changed

LABELS = Secret(SecretKind.LABELS, "bank")
RESIDUALS = Secret(SecretKind.RESIDUALS, "*")
SCORES = Secret(SecretKind.PARTIAL_SCORES, "fintech")
COLUMN = Secret(SecretKind.FEATURES, "fintech")


def tried(name, federation, coalition, target, *, seed=1, deviation=None):
    """The verdict before the run, and the attempt on it."""
    deviating = coalition[0] if deviation else None
    played = play(federation, Randomness.published(seed), deviation=deviation, deviating=deviating)
    attack = ATTACKS.get(name)
    facts = played.view(coalition, target).facts
    attempt = played.attempt(attack, coalition, target, isolated=False)
    return attack.predict(facts).verdict, attempt, wrong_cells(attempt, played.run.truth.of(target))


def expected(text, attack, adversary, defense=None):
    """What ``check`` expects."""
    (found,) = {
        task.prediction.verdict
        for planned in plan_check(parse_scenario(text))
        if (planned.defense.name if planned.defense else None) == defense
        for task in planned.tasks
        if task.attack.name == attack and task.adversary.parties == (adversary,)
    }
    return found


def batch_sizes(text):
    """By defense, as ``check`` has them."""
    runs = plan_check(parse_scenario(text))
    return {run.defense and run.defense.name: task.facts.batch_size for run in runs for task in run.tasks}


def facts(*, n_rows, batch_size, mine=3, **changes):
    parties = (PartyFacts("bank", Role.ACTIVE, 2), PartyFacts("fintech", Role.PASSIVE, mine))
    found = Facts("vertical-logistic", parties, n_rows=n_rows, batch_size=batch_size, n_epochs=2, **changes)
    return found.seen_by(("fintech",), None)


# The last batch of an epoch


@pytest.mark.parametrize("name", ["residual-recovery", "residual-sign"])
def test_a_short_last_batch_is_not_impossible(name):
    """24 rows in batches of 7 leave 3, which 3 own columns solve; in batches of 8 nothing is left."""
    target = LABELS if name == "residual-sign" else RESIDUALS
    short, long = (vertical({"bank": 2, "fintech": 3}, sealed(batch_size=size, epochs=6)) for size in (7, 8))
    verdict, attempt, _ = tried(name, short, ("fintech",), target)
    assert verdict is Verdict.PARTIAL
    assert np.isfinite(attempt.guess.values).any()
    verdict, attempt, _ = tried(name, long, ("fintech",), target)
    assert verdict is Verdict.UNKNOWN
    assert attempt.guess.status is Status.UNDETERMINED


@pytest.mark.parametrize("n_rows", range(4, 40))
@pytest.mark.parametrize("batch_size", [4, 5, 9])
def test_too_few_equations_is_said_only_where_no_batch_has_enough(n_rows, batch_size):
    sizes = {min(batch_size, n_rows - start) for start in range(0, n_rows, batch_size)}
    state = batch_within_columns(facts(n_rows=n_rows, batch_size=batch_size)).state
    assert (state is State.FAILS) == (min(sizes) > 3)
    assert (state is State.HOLDS) == (max(sizes) <= 3 or batch_size <= 3)


def test_nobody_says_impossible_who_does_not_know_the_rows():
    assert batch_within_columns(facts(n_rows=None, batch_size=9)).state is State.UNKNOWN


def test_a_row_alone_in_a_sparse_column_is_found_in_a_batch_of_any_size():
    federation = vertical({"bank": 2, "fintech": 1}, sealed(batch_size=24, epochs=1), n_rows=24)
    sparse = np.zeros((24, 1))
    sparse[3] = 1.0
    bank, fintech = federation.parties
    federation = replace(federation, parties=(bank, replace(fintech, train=Slice(fintech.train.ids, sparse))))
    verdict, attempt, _ = tried("residual-recovery", federation, ("fintech",), RESIDUALS)
    assert np.isfinite(attempt.guess.values).sum() == 1
    assert verdict is Verdict.UNKNOWN


# Changed settings in ``check``


def test_larger_batch_changes_what_check_speaks_about():
    text = changed(('name = "gaussian-noise"\nsigma = 200.0', 'name = "larger-batch"'), ("max_rows = 100", ""))
    text = text.replace('by = "ratio"', 'by = "ratio"\ntrain_rows = 92')
    assert expected(text, "residual-recovery", "fintech") is Verdict.EXACT
    assert expected(text, "residual-recovery", "fintech", "larger-batch") is Verdict.UNKNOWN
    assert batch_sizes(text) == {None: 8, "larger-batch": 46}, "twice 23 columns, and 92 rows leave no short batch"
    assert batch_sizes(text.replace("train_rows = 92", "")) == {None: 8, "larger-batch": None}


@pytest.mark.parametrize("n_rows", range(10, 60, 7))
def test_larger_batch_leaves_no_short_batch(n_rows):
    federation = vertical({"bank": 2, "fintech": 4}, sealed(batch_size=2), n_rows=n_rows)
    size = LargerBatch().configure(federation).settings.batch_size
    assert size >= 8
    assert n_rows % size == 0 or n_rows % size > 4


# Columns as they are encoded


def test_check_counts_no_source_columns_where_categories_become_several():
    text = changed(('scaling = "standard+max-row-norm"', 'scaling = "standard+max-row-norm"\ncategorical = "one-hot"'))
    assert expected(SMALL, "residual-recovery", "fintech") is Verdict.EXACT
    assert expected(text, "residual-recovery", "fintech") is Verdict.UNKNOWN


def test_a_party_that_names_no_columns_has_none():
    text = changed(
        ('by = "ratio"', 'by = "columns"\nunassigned = "drop"\ntrain_rows = 92'),
        ("n_columns = 7", ""),
        ("n_columns = 23", 'columns = ["mean radius", "mean texture", "mean area"]'),
    )
    assert expected(text, "sign-system-labels", "fintech") is Verdict.EXACT, "no score is unknown"
    assert expected(text, "own-weights", "bank") is Verdict.IMPOSSIBLE, "no column, no weight"


# Packing


@pytest.mark.parametrize("fraction_bits", [40, 48, 52])
@pytest.mark.parametrize("n_rows", [15, 30, 45])
def test_slots_are_as_long_as_the_values(fraction_bits, n_rows):
    """Whatever theory says of one batch of all rows, the run agrees: 64 bits hold no value of 52 fraction bits."""
    settings = sealed(batch_size=n_rows, epochs=1, fraction_bits=fraction_bits)
    federation = vertical({"bank": 2, "fintech": 2}, settings, n_rows=n_rows)
    name = "packed-residual-recovery"
    verdict, attempt, wrong = tried(name, federation, ("fintech",), RESIDUALS, deviation=PackedProducts())
    assert verdict in (Verdict.EXACT, Verdict.UNKNOWN)
    assert (verdict is Verdict.EXACT) == (not wrong)
    assert (attempt.guess.status is Status.RECOVERED) == (not wrong)


@pytest.mark.parametrize(("mine", "verdict"), [(0, Verdict.IMPOSSIBLE), (1, Verdict.UNKNOWN)])
def test_too_few_slots_leave_the_own_gradient(mine, verdict):
    """A row that stands alone in a sparse column is read off an honest round."""
    crowded = facts(n_rows=300, batch_size=300, mine=mine, key_bits=1024, fraction_bits=40, approximation="taylor")
    assert enough_slots(crowded).state is State.FAILS
    assert ATTACKS.get("packed-residual-recovery").predict(crowded).verdict is verdict


def test_short_slots_are_not_promised_to_values_of_any_size():
    known = {"key_bits": 1024, "fraction_bits": 40, "approximation": "taylor", "initialisation": "zero"}
    bounded = facts(n_rows=30, batch_size=30, mine=2, learning_rate=0.1, max_row_norm=1.0, **known)
    assert enough_slots(bounded).state is State.HOLDS
    assert enough_slots(replace(bounded, max_row_norm=None)).state is State.UNKNOWN
    assert enough_slots(replace(bounded, learning_rate=100.0)).state is State.UNKNOWN


def test_who_deviates_for_a_coalition_has_data():
    """An arbiter that is named first has no columns to claim."""
    roles = (("bank", Role.ACTIVE), ("fintech", Role.PASSIVE), ("referee", Role.ARBITER))
    parties = tuple(PartyFacts(name, role, 2) for name, role in roles)
    seen_by = Facts("vertical-logistic-arbiter", parties).seen_by(("referee", "fintech"), None)
    assert seen_by.deviating == "fintech"


# Signs, scores, single columns


@pytest.mark.parametrize(
    ("batch_size", "verdict"), [(12, Verdict.PARTIAL), (24, Verdict.UNKNOWN), (36, Verdict.UNKNOWN)]
)
def test_one_column_has_26_bits_an_equation(batch_size, verdict):
    federation = vertical({"bank": 0, "fintech": 1}, sealed(batch_size=batch_size, epochs=1), n_rows=batch_size)
    found, attempt, wrong = tried("sign-system-labels", federation, ("fintech",), LABELS)
    assert found is verdict
    assert found is not Verdict.EXACT or not wrong
    assert attempt.guess.status is not Status.RECOVERED or not wrong


@pytest.mark.parametrize(
    ("n_rows", "width", "verdict"), [(4, 2, Verdict.PARTIAL), (40, 2, Verdict.EXACT), (12, 3, Verdict.EXACT)]
)
def test_a_row_of_zeros_has_no_label_to_show(n_rows, width, verdict):
    federation = vertical({"bank": 0, "fintech": width}, sealed(batch_size=2, epochs=1), n_rows=n_rows)
    bank, fintech = federation.parties
    shown, attempt, wrong = tried("sign-system-labels", federation, ("fintech",), LABELS)
    assert (shown, wrong, attempt.guess.status) == (verdict, "", Status.RECOVERED)
    rows = fintech.train.features.copy()
    rows[0] = 0.0
    silent = replace(fintech, train=replace(fintech.train, features=rows))
    _, attempt, wrong = tried("sign-system-labels", replace(federation, parties=(bank, silent)), ("fintech",), LABELS)
    assert attempt.guess.status is Status.PARTIAL
    assert wrong == f"1 of {n_rows} cells are missing"


def test_sums_of_few_digits_are_not_promised_to_match():
    settings = sealed(batch_size=12, epochs=1, fraction_bits=24, approximation="cubic")
    verdict, _, wrong = tried(
        "sign-system-labels", vertical({"bank": 0, "fintech": 2}, settings, n_rows=12), ("fintech",), LABELS
    )
    assert wrong
    assert verdict is Verdict.UNKNOWN


def test_a_flat_part_of_the_sigmoid_is_not_exact():
    federation = vertical(
        {"bank": 6, "fintech": 2}, sealed(batch_size=4, approximation="piecewise", learning_rate=9.0, epochs=4)
    )
    verdict, attempt, wrong = tried("score-recovery", federation, ("bank",), SCORES)
    assert wrong
    assert verdict is not Verdict.EXACT
    assert attempt.guess.status is Status.PARTIAL


def test_scores_by_unproved_labels_are_not_recovered():
    settings = sealed(batch_size=4, initialisation="normal", epochs=1)
    federation = vertical({"bank": 2, "fintech": 5}, settings, n_rows=8)
    federation = replace(
        federation,
        parties=tuple(
            replace(p, train=Slice(p.train.ids, 9 * p.train.features, p.train.labels)) for p in federation.parties
        ),
        max_row_norm=9.0,
    )
    _, attempt, wrong = tried("score-recovery", federation, ("fintech",), Secret(SecretKind.PARTIAL_SCORES, "bank"))
    assert wrong
    assert attempt.guess.status is Status.PARTIAL
    assert "not proved" in attempt.guess.why


@pytest.mark.parametrize("seed", range(6))
def test_few_rows_are_not_promised_to_intertwine(seed):
    federation = vertical({"bank": 3, "fintech": 1}, sealed(batch_size=2, epochs=4), n_rows=4, seed=seed)
    verdict, _, wrong = tried("single-column-recovery", federation, ("bank",), COLUMN, seed=seed)
    assert verdict is Verdict.UNKNOWN
    many = vertical({"bank": 5, "fintech": 1}, sealed(batch_size=4, epochs=6), n_rows=16, seed=seed)
    verdict, _, wrong = tried("single-column-recovery", many, ("bank",), COLUMN, seed=seed)
    assert verdict is Verdict.EXACT
    assert not wrong


# Inner products of columns


def products_of(tables, coalition, others, **changes):
    settings = HorizontalLogisticSettings(**{"rounds": 40, "learning_rate": 0.01, **changes})
    result = horizontal.train(horizontal.federation(tables, settings))
    target = Secret(SecretKind.COLUMN_PRODUCTS, others)
    view = horizontal.view_of(result, coalition, target)
    guess = ATTACKS.get("column-products")().run(view, rng=np.random.default_rng(0))
    return guess, result.truth.of(target).values


def test_inner_products_of_real_columns_are_not_rounded():
    rng = np.random.default_rng(3)
    tables = {"a": horizontal.binary(6, 2), "b": 0.4 * rng.standard_normal((5, 2)) + np.array([1.0, 0.0])}
    guess, true = products_of(tables, ("a",), "b", batch_size=3, shuffled=("a",), rounds=60)
    assert guess.status is Status.RECOVERED or not np.isfinite(guess.values).all()
    told = np.isfinite(guess.values)
    np.testing.assert_allclose(guess.values[told], true[told], atol=1e-3)


def test_rows_that_are_in_several_sums_are_not_counted_twice():
    tables = {"a": horizontal.binary(4, 3, 1), "b": horizontal.binary(8, 3, 2), "c": horizontal.binary(4, 3, 3)}
    guess, _ = products_of(tables, ("a",), "b+c", batch_size=4, shuffled=(), rounds=60, initialisation="normal")
    assert guess.status is not Status.RECOVERED
    assert "directions are determined" in guess.why or "several of the sums" in guess.why


@pytest.mark.parametrize("seed", range(3))
def test_entries_that_one_of_several_parties_left_out_do_not_show(seed):
    """Each sends its larger entry: the sum follows one linear map, of other rows in every column."""
    rows = np.random.default_rng(seed).integers(0, 2, (6, 1))
    first, second = np.hstack([rows, np.zeros((6, 1))]), np.hstack([np.zeros((6, 1)), rows])
    first[0, 1] = second[0, 0] = 1.0
    tables = {"a": horizontal.binary(4, 2, 1), "b": first, "c": second}
    settings = HorizontalLogisticSettings(rounds=12, learning_rate=0.01, batch_size=0, initialisation="normal")
    federation = horizontal.federation(tables, settings)
    played = play(federation, Randomness.published(seed), defense=SelectiveSharing())
    for name in ("column-products", "binary-records"):
        attack = ATTACKS.get(name)
        attempt = played.attempt(attack, ("a",), Secret(attack.produces, "b+c"), isolated=False)
        assert attempt.guess.status is not Status.RECOVERED
        assert not attempt.guess.certificate


def test_one_update_of_a_recurring_batch_gives_a_single_columns_products():
    """Two epochs were said to be too few for one column: an update is one equation for one unknown."""
    settings = sealed(batch_size=5, epochs=2, initialisation="normal")
    federation = vertical({"bank": 5, "fintech": 1}, settings, n_rows=5)
    verdict, attempt, wrong = tried("gram-recovery", federation, ("bank",), Secret(SecretKind.GRAM, "fintech"))
    assert attempt.guess.status is Status.RECOVERED
    assert not wrong
    assert verdict is Verdict.UNKNOWN
