"""Counts, ratios and patterns of Li et al. 2021."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Capability
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.papers.li2021.printed import TABLE2, TABLE3, TABLE4
from fedleak.protocols.averaging.vocabulary import HorizontalLinearFacts
from fedleak.protocols.linear.vocabulary import ArbiterFacts
from fedleak.theory.arbiter_equations import ArbiterAlone, ArbiterCollusion
from fedleak.theory.condition import State
from fedleak.theory.horizontal_rounds import HorizontalInversion
from fedleak.theory.inner_products import GramRecovery
from fedleak.theory.rotation_freedom import (
    LinearFreedom,
    QuadraticFreedom,
    degrees_of_freedom,
    horizontal_kdr,
    pattern_condition,
    staircase,
    staircase_order,
    vertical_kdr,
)


def test_degrees_of_freedom():
    assert [degrees_of_freedom(n, with_weights=False) for n in (1, 2, 4, 10)] == [0, 1, 6, 45]
    assert [degrees_of_freedom(n, with_weights=True) for n in (1, 2, 4, 10)] == [0, 0, 3, 36]


@pytest.mark.parametrize("case", [*TABLE2, *TABLE3], ids=str)
def test_the_vertical_ratio_is_the_papers(case):
    assert vertical_kdr(case.victim_features, case.samples) == pytest.approx(case.kdr, abs=1.1e-3)


@pytest.mark.parametrize("case", TABLE4, ids=str)
def test_the_horizontal_ratio_is_the_papers(case):
    assert horizontal_kdr(case.features, case.victim_samples) == pytest.approx(case.kdr, abs=1.1e-3)


def test_with_more_rows_than_columns_half_the_table_must_be_known():
    assert horizontal_kdr(5, 20) == pytest.approx((2 * 20 - 5 - 1) / 40)
    assert horizontal_kdr(5, 20) >= 0.5


@pytest.mark.parametrize("with_weights", [False, True])
def test_a_staircase_has_as_many_cells_as_there_are_degrees_of_freedom(with_weights):
    for n in range(1, 9):
        assert sum(staircase(n, with_weights=with_weights)) == degrees_of_freedom(n, with_weights=with_weights)


FIGURE_5 = {  # 9 rows of 4 columns, the known ones marked; the three cases that the text describes
    "rows in order": {0: (0, 1, 2), 1: (0, 1), 2: (0,)},
    "rows permuted": {6: (0, 1, 2), 2: (0, 1), 4: (0,)},
    "other columns": {6: (1, 2, 3), 2: (0, 3), 4: (2,)},
}


@pytest.mark.parametrize("pattern", FIGURE_5.values(), ids=FIGURE_5.keys())
def test_the_patterns_of_figure_5_satisfy_corollary_1_and_fix_the_rotation(pattern):
    known = np.zeros((9, 4), dtype=bool)
    for row, columns in pattern.items():
        known[row, list(columns)] = True
    assert staircase_order(known, with_weights=False) is not None
    rows = np.random.default_rng(0).standard_normal((9, 4))
    assert pattern_condition(rows, known) < 1e6


def test_the_papers_counterexample_fixes_nothing():
    """One column of three rows: three cells, three degrees of freedom, and a rotation that moves none of them."""
    known = np.zeros((3, 3), dtype=bool)
    known[:, 0] = True
    assert staircase_order(known, with_weights=False) is None
    rows = np.random.default_rng(0).standard_normal((3, 3))
    assert pattern_condition(rows, known) == np.inf


def facts(*, theirs: int = 5, **changes) -> Facts:
    parties = (
        PartyFacts("bank", Role.ACTIVE, 12),
        PartyFacts("fintech", Role.PASSIVE, theirs),
        PartyFacts("referee", Role.ARBITER, 0),
    )
    usual = {"n_rows": 30, "batch_size": 10, "n_epochs": 40, "approximation": "exact"}
    values = {**usual, "own": ArbiterFacts(shuffle=True, l2=0.1), **changes}
    found = Facts("vertical-linear-arbiter", parties, **values)
    held = frozenset({Capability.OWN_GRADIENT, Capability.LABELS, Capability.CIPHERTEXTS})
    return found.seen_by(("bank",), held)


def test_what_it_takes_to_recover_the_inner_products():
    assert GramRecovery.assess(facts()).state is State.HOLDS
    assert GramRecovery.assess(facts(n_epochs=20)).state is State.UNKNOWN, "a search may succeed"
    assert GramRecovery.assess(facts(n_epochs=4)).state is State.FAILS, "120 scores for 145 unknowns"
    assert GramRecovery.assess(facts(batch_size=15)).state is State.FAILS
    assert GramRecovery.assess(facts(own=ArbiterFacts(shuffle=False))).state is State.UNKNOWN, "only a search is left"
    assert GramRecovery.assess(facts(score_noise=1.0)).state is State.FAILS
    for width, fewest in ((1, 2), (2, 3), (5, 5)):  # one batch of all rows
        for n_epochs, state in ((fewest - 1, State.FAILS), (fewest, State.UNKNOWN)):
            found = GramRecovery.assess(facts(theirs=width, batch_size=30, n_epochs=n_epochs))
            assert next(c.state for c in found.conditions if "enough epochs" in c.statement) is state, (width, n_epochs)
    assert GramRecovery.assess(facts(own=None)).state is State.UNKNOWN


def test_the_freedom_is_counted_only_for_one_victim():
    assert QuadraticFreedom.assess(facts()).state is State.HOLDS
    assert "10 known cells" in QuadraticFreedom.assess(facts()).conclusion
    assert "6 known cells" in LinearFreedom.assess(facts()).conclusion
    assert LinearFreedom.assess(facts(n_rows=2)).state is State.FAILS


WITH_KEY = frozenset(
    {Capability.DECRYPTION_KEY, Capability.ALL_GRADIENTS, Capability.CIPHERTEXTS, Capability.BATCH_IDS}
)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, State.HOLDS),
        ({"n_epochs": 7}, State.HOLDS),  # 5 columns: a visit an unknown, and one to spare
        ({"n_epochs": 6}, State.UNKNOWN),
        ({"n_epochs": 5}, State.UNKNOWN),  # 150 scores and 75 gradients for 185 unknowns: a count
        ({"n_epochs": 4}, State.UNKNOWN),  # 120 and 60; but the first weights are the same for all rows
        ({"n_epochs": 3}, State.FAILS),  # 90 and 45 for 150 cells
        ({"batch_size": 30, "theirs": 4}, State.UNKNOWN),  # a large batch that recurs is no remedy, and no promise
        ({"batch_size": 30}, State.UNKNOWN),  # digits: it depends on the data
        ({"batch_size": 30, "n_epochs": 5}, State.UNKNOWN),
        ({"theirs": 20}, State.HOLDS),
        ({"score_noise": 1.0}, State.HOLDS),  # by the gradients of what was used
        ({"score_noise": 1.0, "n_epochs": 9}, State.UNKNOWN),
    ],
)
def test_a_coalition_with_the_arbiter_needs_as_many_equations_as_unknowns(changes, state):
    found = facts(fraction_bits=40, **changes).seen_by(("bank", "referee"), WITH_KEY)
    assert ArbiterCollusion.assess(found).state is state


ALONE = frozenset({Capability.ALL_GRADIENTS, Capability.BATCH_IDS, Capability.LINEAR_RESIDUAL})


@pytest.mark.parametrize(
    ("changes", "state", "what"),
    [
        ({"n_epochs": 100}, State.HOLDS, "every row"),  # 17 columns, batches of 10: 100 epochs
        ({"n_epochs": 99}, State.FAILS, "every row"),
        ({"batch_size": 30, "n_epochs": 18}, State.HOLDS, "inner products"),
        ({"batch_size": 30, "n_epochs": 17}, State.FAILS, "inner products"),
        ({"n_epochs": 100, "score_noise": 0.1}, State.FAILS, "every row"),
    ],
)
def test_what_the_arbiter_alone_has(changes, state, what):
    assessment = ArbiterAlone.assess(facts(**changes).seen_by(("referee",), ALONE))
    assert assessment.state is state
    assert what in assessment.conclusion


def gradients_alone(rows, targets, *, size, epochs, seed=0):
    """What a training by all parties together shows the arbiter: batches, gradients, steps."""
    rng, weights, seen = np.random.default_rng(seed), np.zeros(rows.shape[1]), []
    for _ in range(epochs):
        order = rng.permutation(len(rows))
        for start in range(0, len(rows), size):
            batch = order[start : start + size]
            gradient = rows[batch].T @ (rows[batch] @ weights - targets[batch]) / size
            seen.append((batch, weights, gradient))
            weights = weights - 0.1 * gradient
    return seen


def lines_alone(seen, n_rows):
    """Linear equations in each row's x x^T (upper triangle) and c x."""
    n = len(seen[0][1])
    pairs = list(zip(*np.triu_indices(n), strict=True))
    lines = np.zeros((len(seen), n, n_rows, len(pairs) + n))
    for line, (batch, weights, _) in zip(lines, seen, strict=True):
        block = np.zeros((n, len(pairs) + n))
        for place, (i, j) in enumerate(pairs):
            block[i, place] = weights[j]
            block[j, place] = weights[i]
        block[:, len(pairs) :] = np.eye(n)
        line[:, batch] = block[:, None, :]
    return lines.reshape(len(seen) * n, -1)


def test_fresh_batches_tell_the_arbiter_every_row_up_to_its_sign():
    """3 columns, batches of 4: 12 epochs, and not 11."""
    rng = np.random.default_rng(1)
    rows, targets = rng.standard_normal((12, 3)), rng.standard_normal(12)
    signs = rng.choice([-1.0, 1.0], 12)
    for epochs, full in ((11, False), (12, True)):
        seen = gradients_alone(rows, targets, size=4, epochs=epochs)
        lines = lines_alone(seen, 12)
        assert bool(np.linalg.matrix_rank(lines, tol=1e-9) == lines.shape[1]) is full
    found = np.linalg.lstsq(lines, np.concatenate([4 * gradient for _, _, gradient in seen]), rcond=None)[0]
    expected = [
        [*row[np.triu_indices(3)[0]] * row[np.triu_indices(3)[1]], *(-t * row)]
        for row, t in zip(rows, targets, strict=True)
    ]
    np.testing.assert_allclose(found.reshape(12, -1), expected, atol=1e-6)
    flipped = gradients_alone(signs[:, None] * rows, signs * targets, size=4, epochs=12)
    np.testing.assert_allclose(flipped[-1][2], seen[-1][2], atol=1e-12)


def test_a_recurring_batch_hides_its_rows_behind_a_rotation():
    rng = np.random.default_rng(2)
    rows, targets = rng.standard_normal((8, 3)), rng.standard_normal(8)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    one = gradients_alone(rows, targets, size=8, epochs=20)
    other = gradients_alone(turn @ rows, turn @ targets, size=8, epochs=20)
    np.testing.assert_allclose([g for _, _, g in one], [g for _, _, g in other], atol=1e-12)


def test_without_the_active_party_all_outside_are_one_victim():
    """fintech and the referee see bank's 12 columns: 13 unknowns a row, against 6 for bank and the referee."""
    few = facts(fraction_bits=40, n_epochs=7)
    assert ArbiterCollusion.assess(few.seen_by(("bank", "referee"), WITH_KEY)).state is State.HOLDS
    assert ArbiterCollusion.assess(few.seen_by(("fintech", "referee"), WITH_KEY)).state is not State.HOLDS


@pytest.mark.parametrize(("secure", "state"), [(True, State.FAILS), (False, State.UNKNOWN)])
def test_secure_aggregation_hides_one_party_among_two(secure, state):
    parties = (*(PartyFacts(name, Role.ACTIVE, 4) for name in "abc"), PartyFacts("server", Role.SERVER, 0))
    own = HorizontalLinearFacts(rounds=60, shuffled=("a",), secure_aggregation=secure)
    held = frozenset({Capability.AVERAGED_WEIGHTS, Capability.KNOWN_CELLS})
    found = Facts("horizontal-linear", parties, n_rows=20, own=own).seen_by(("a", "server"), held)
    assert HorizontalInversion.assess(found).state is state


def test_the_rounds_that_are_needed_are_counted_by_columns_that_are_known():
    parties = (
        PartyFacts("server", Role.SERVER, 7),
        PartyFacts("a", Role.ACTIVE, None),
        PartyFacts("b", Role.ACTIVE, 4),
    )
    for rounds, state in ((3, State.FAILS), (4, State.HOLDS)):
        found = Facts("horizontal-linear", parties, own=HorizontalLinearFacts(rounds=rounds)).seen_by(
            ("a",), frozenset()
        )
        conditions = HorizontalInversion.assess(found).conditions
        assert next(c.state for c in conditions if "enough rounds" in c.statement) is state


@pytest.mark.parametrize(("batch_size", "kept_apart"), [(19, True), (20, False), (None, False)])
def test_only_several_batches_that_are_drawn_anew_keep_models_apart(batch_size, kept_apart):
    """All rows in one batch are the same however they are shuffled."""
    parties = (*(PartyFacts(name, Role.ACTIVE, 4) for name in "ab"), PartyFacts("server", Role.SERVER, 0))
    own = HorizontalLinearFacts(rounds=60, shuffled=("a",), secure_aggregation=True)
    found = Facts("horizontal-linear", parties, n_rows=20, batch_size=batch_size, own=own).seen_by(("a",), frozenset())
    details = [condition.detail for condition in HorizontalInversion.assess(found).conditions]
    assert ("a" in details) is kept_apart
    assert any(detail.startswith("nobody") for detail in details) is not kept_apart


@pytest.mark.parametrize("attack", list(ATTACKS), ids=lambda plugin: plugin.name)
def test_every_attack_has_something_to_say_about_linear_regression(attack):
    assert attack.predict(facts(approximation="exact")).reasons
