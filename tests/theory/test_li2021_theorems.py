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
from fedleak.theory.condition import State
from fedleak.theory.horizontal_rounds import HorizontalInversion
from fedleak.theory.inner_products import ArbiterCollusion, GramRecovery
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


def facts(**changes) -> Facts:
    parties = (
        PartyFacts("bank", Role.ACTIVE, 12),
        PartyFacts("fintech", Role.PASSIVE, 5),
        PartyFacts("referee", Role.ARBITER, 0),
    )
    values = {"n_rows": 30, "batch_size": 10, "n_epochs": 40, "own": ArbiterFacts(shuffle=True, l2=0.1), **changes}
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
    assert GramRecovery.assess(facts(own=None)).state is State.UNKNOWN


def test_the_freedom_is_counted_only_for_one_victim():
    assert QuadraticFreedom.assess(facts()).state is State.HOLDS
    assert "10 known cells" in QuadraticFreedom.assess(facts()).conclusion
    assert "6 known cells" in LinearFreedom.assess(facts()).conclusion
    assert LinearFreedom.assess(facts(n_rows=2)).state is State.FAILS


def test_a_coalition_with_the_arbiter_needs_as_many_rounds_as_unknowns():
    held = frozenset({Capability.DECRYPTION_KEY, Capability.ALL_GRADIENTS, Capability.CIPHERTEXTS})
    enough = facts().seen_by(("bank", "referee"), held)
    assert ArbiterCollusion.assess(enough).state is State.HOLDS
    few = facts(n_epochs=9).seen_by(("bank", "referee"), held)
    assert ArbiterCollusion.assess(few).state is State.FAILS


@pytest.mark.parametrize(("secure", "state"), [(True, State.FAILS), (False, State.HOLDS)])
def test_secure_aggregation_hides_one_party_among_two(secure, state):
    parties = (*(PartyFacts(name, Role.ACTIVE, 4) for name in "abc"), PartyFacts("server", Role.SERVER, 0))
    own = HorizontalLinearFacts(rounds=60, shuffled=("a",), secure_aggregation=secure)
    held = frozenset({Capability.AVERAGED_WEIGHTS, Capability.KNOWN_CELLS})
    found = Facts("horizontal-linear", parties, n_rows=20, own=own).seen_by(("a", "server"), held)
    assert HorizontalInversion.assess(found).state is state


@pytest.mark.parametrize("attack", list(ATTACKS), ids=lambda plugin: plugin.name)
def test_every_attack_has_something_to_say_about_linear_regression(attack):
    assert attack.predict(facts(approximation="exact")).reasons
