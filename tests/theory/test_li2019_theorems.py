"""Theorems of Li et al. 2019, held against numbers."""

from __future__ import annotations

from math import comb, log2

import numpy as np
import pytest

from fedleak.core.adversary import Capability
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols.averaging.horizontal_logistic import HorizontalLogistic
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.theory.binary_uniqueness import BinaryUniqueness, expected_doubles, fewest_columns, table_bits
from fedleak.theory.condition import State
from fedleak.theory.horizontal_rounds import LinearUpdate, n_batches, rounds_needed
from fedleak.theory.local_updates import LocalUpdate, closed_form, exactness_limit, freedom, other_factors, product_of


def facts(n_rows: int = 10, columns: int = 20, **changes) -> Facts:
    parties = (
        PartyFacts("hospital", Role.ACTIVE, columns),
        PartyFacts("clinic", Role.ACTIVE, columns),
        PartyFacts("hub", Role.SERVER, 0),
    )
    own = HorizontalLogisticSettings(**{"rounds": 60, "batch_size": 10, **changes})
    seen = HorizontalLogistic.facts(own, parties, n_rows)
    return seen.seen_by(("hospital",), frozenset({Capability.UPDATE_SUM}))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_closed_form_of_theorem_1_is_what_local_steps_give(n):
    rng = np.random.default_rng(n)
    batches = [(rng.integers(0, 2, (4, 3)).astype(float), rng.choice([-1.0, 1.0], 4)) for _ in range(n)]
    theta = start = rng.standard_normal(3)
    for x, y in batches:
        theta = theta - 0.3 * (x.T @ x @ theta / 4 - x.T @ y / 2)
    gamma, eta = closed_form([x.T @ x for x, _ in batches], [x.T @ y for x, y in batches], 0.3)
    assert np.allclose(start - theta, gamma @ start - 0.15 * eta)


def test_theorem_2_real_factors_are_not_unique_but_their_sums_are_close():
    rng = np.random.default_rng(0)
    alphas = [x.T @ x for x in rng.integers(0, 2, (2, 6, 4)).astype(float)]
    others = other_factors(alphas, 0.01, 0.02)
    assert np.allclose(product_of(others, 0.01), product_of(alphas, 0.01))
    assert all(np.allclose(other, other.T) for other in others)
    moved = np.abs(others[0] - alphas[0]).max()
    assert moved > 1
    assert np.abs(sum(others) - sum(alphas)).max() < 0.1 * moved
    assert freedom(4, 2) == 4


def test_entropy_counts():
    assert table_bits(8, 2) == pytest.approx(log2(comb(2**2 + 7, 8)))
    assert table_bits(3, 30) == pytest.approx(90 - log2(6))
    assert expected_doubles(24, 8) > 1e6
    assert expected_doubles(11, 20) < 1e-9
    assert 12 < fewest_columns(24) < 24


def test_below_the_count_random_tables_have_doubles():
    from fedleak.attacks.binary.binary_table import Outcome, binary_tables
    from fedleak.attacks.binary.table_search import Budget

    assert expected_doubles(14, 6) > 1
    outcomes = []
    for seed in range(6):
        x = np.random.default_rng(seed).integers(0, 2, (14, 6))
        outcomes.append(binary_tables(x.T @ x, 14, Budget()).outcome)
    assert outcomes.count(Outcome.SEVERAL) >= 4


def test_section_3_2_holds_for_enough_rounds_over_the_same_rows():
    assert rounds_needed(20) == 21
    assert LinearUpdate.assess(sized(20, 10, batch_size=10, shuffled=("hospital",))).state is State.UNKNOWN
    assert LinearUpdate.assess(facts()).state is State.UNKNOWN, "nothing keeps the models from turning collinear"
    assert LinearUpdate.assess(facts(rounds=20)).state is State.FAILS
    assert LinearUpdate.assess(facts(n_rows=40, rounds=200, shuffled=("clinic",))).state is State.FAILS
    assert LinearUpdate.assess(facts(shuffled=("hospital",))).state is State.UNKNOWN, "one batch is no other"
    assert LinearUpdate.assess(facts(update="asynchronised")).state is State.FAILS


def test_uniqueness_needs_more_columns_than_rows_of_an_update():
    assert BinaryUniqueness.assess(sized(20, 10, batch_size=10, shuffled=("hospital",))).state is State.UNKNOWN
    assert BinaryUniqueness.assess(facts(columns=12)).state is State.FAILS


def test_theorem_1_at_small_and_large_rates():
    assert exactness_limit(20, 44) == pytest.approx(0.018, abs=0.001)
    small = facts(n_rows=44, update="asynchronised", learning_rate=0.01)
    assert LocalUpdate.assess(small).state is State.HOLDS
    large = facts(n_rows=44, update="asynchronised", learning_rate=0.1)
    assert LocalUpdate.assess(large).state is State.FAILS


def sized(hospital: int, *others: int, columns: int = 20, **changes) -> Facts:
    """Parties with rows of their own; the hospital is the adversary."""
    names = ("hospital", "clinic", "praxis")
    counts = (hospital, *others)
    parties = tuple(PartyFacts(names[i], Role.ACTIVE, columns, n_rows=n) for i, n in enumerate(counts))
    own = HorizontalLogisticSettings(**{"rounds": 60, "batch_size": 0, **changes})
    return HorizontalLogistic.facts(own, parties, max(counts)).seen_by(
        ("hospital",), frozenset({Capability.UPDATE_SUM})
    )


def test_predictions_go_by_the_victims_rows():
    """A large adversary does not make a small victim any safer."""
    excited = {"batch_size": 10, "shuffled": ("hospital",)}
    assert BinaryUniqueness.assess(sized(500, 10, **excited)).state is State.UNKNOWN
    assert BinaryUniqueness.assess(sized(10, 500)).state is State.FAILS
    assert BinaryUniqueness.assess(sized(500, 10, 10)).state is State.FAILS, "20 rows in one sum"
    assert LinearUpdate.assess(sized(500, 10, **excited)).state is State.UNKNOWN
    assert LinearUpdate.assess(sized(10, 500, batch_size=10)).state is State.FAILS
    rate = exactness_limit(20, 10)
    local = {"update": "asynchronised", "learning_rate": rate, "batch_size": 5}
    assert LocalUpdate.assess(sized(500, 10, **local)).state is State.HOLDS
    assert LocalUpdate.assess(sized(10, 500, **local)).state is State.FAILS


def test_batches_of_several_parties_come_round_together():
    assert n_batches(sized(100, 20, 30, batch_size=10)) == 6
    assert n_batches(sized(100, 20, batch_size=10)) == 2
