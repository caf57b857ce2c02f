"""Preconditions and figures of the theorems of Hu et al. 2022."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log, sqrt

import numpy as np
import pytest

from fedleak.core.adversary import Capability
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.theory import THEOREMS
from fedleak.theory.column_ratios import epochs_for_values, epochs_to_merge, regrouping_bound
from fedleak.theory.condition import State
from fedleak.theory.label_signs import (
    PSI1_OF_STANDARD_NORMAL,
    gaussian_bound,
    noisy_safe_rounds,
    paper_confidence,
    paper_safe_rounds,
    safe_rounds,
)
from fedleak.theory.privacy_budget import noise_levels, score_sensitivity, weight_sensitivity
from fedleak.theory.score_noise import C_GAUSSIAN, error_bound, utility_bound
from fedleak.theory.sigmoid_approximations import cubic_safe_rounds

MEMBER = frozenset({Capability.OWN_FEATURES, Capability.OWN_GRADIENT, Capability.BATCH_IDS})


def facts(adversary: str = "bank", n_active: int = 20, n_passive: int = 1, **changes: object) -> Facts:
    capabilities = MEMBER | ({Capability.LABELS} if adversary == "bank" else set())
    base = Facts(
        protocol="vertical-logistic",
        parties=(PartyFacts("bank", Role.ACTIVE, n_active), PartyFacts("shop", Role.PASSIVE, n_passive)),
        n_rows=160,
        batch_size=16,
        n_epochs=6,
        learning_rate=0.1,
        initialisation="xavier",
        approximation="taylor",
        max_row_norm=1.0,
        own=LinearFacts(shuffle=True),
        adversary=(adversary,),
        capabilities=capabilities,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def state(name: str, given: Facts) -> State:
    return THEOREMS.get(name).assess(given).state


def test_every_theorem_answers_on_empty_facts_without_claiming_to_hold() -> None:
    nothing = Facts(protocol="p", parties=(PartyFacts("bank", Role.ACTIVE), PartyFacts("shop", Role.PASSIVE)))
    for theorem in THEOREMS:
        assessment = theorem.assess(nothing.seen_by(("bank",), None))
        assert assessment.state is not State.HOLDS, theorem.name
        assert all(line for line in assessment.reasons)


@pytest.mark.parametrize("name", ["hu2022/lemma-3.3", "hu2022/lemma-3.4", "hu2022/theorem-3.5"])
def test_single_column_theorems(name: str) -> None:
    assert state(name, facts()) is State.HOLDS
    assert state(name, facts(n_passive=2)) is State.FAILS
    assert state(name, facts(batch_size=32)) is State.FAILS
    assert state(name, facts(batch_size=21)) is State.UNKNOWN, "the last batch is short"
    assert state(name, facts(score_noise=1.0)) is State.FAILS
    assert state(name, facts(n_passive=None)) is State.UNKNOWN


def test_theorem_3_5_needs_epochs_and_shuffling() -> None:
    assert epochs_to_merge(10) == 5
    assert state("hu2022/theorem-3.5", facts(n_epochs=4)) is State.FAILS
    assert state("hu2022/theorem-3.5", facts(n_epochs=5, initialisation="zero")) is State.FAILS  # one epoch more
    assert state("hu2022/theorem-3.5", facts(n_epochs=6, initialisation="zero")) is State.HOLDS
    assert state("hu2022/theorem-3.5", facts(own=LinearFacts(shuffle=False))) is State.FAILS
    assert state("hu2022/theorem-3.5", facts(approximation="cubic")) is State.FAILS
    assert epochs_for_values(1, zero_start=False) == 2


def test_remark_4_9_a_passive_party_needs_the_labels_first() -> None:
    passive = facts("shop", n_active=1, n_passive=20, n_epochs=6)
    assert state("hu2022/theorem-3.5", replace(passive, initialisation="zero", learning_rate=0.05)) is State.HOLDS
    assert state("hu2022/theorem-3.5", replace(passive, initialisation="normal")) is State.UNKNOWN


def test_merging_within_the_lemmas_epochs_in_simulation() -> None:
    rng = np.random.default_rng(0)
    n_batches, size = 8, 3
    epochs = epochs_to_merge(n_batches)
    failures = sum(not _merges(n_batches, size, epochs, rng) for _ in range(2000))
    assert failures / 2000 <= regrouping_bound(n_batches, size, epochs=epochs) + 0.005
    assert regrouping_bound(n_batches, size, epochs=epochs) <= 2 / n_batches ** (size - 1)
    assert regrouping_bound(50, 256, epochs=7) == pytest.approx(0.0, abs=1e-100)


def _merges(n_batches: int, size: int, epochs: int, rng: np.random.Generator) -> bool:
    group = np.arange(n_batches * size)
    for _ in range(epochs):
        for batch in rng.permutation(n_batches * size).reshape(n_batches, size):
            group[np.isin(group, group[batch])] = group[batch[0]]
    return len(set(group.tolist())) == 1


def test_theorem_3_6() -> None:
    assert state("hu2022/theorem-3.6", facts(n_passive=2)) is State.HOLDS
    assert state("hu2022/theorem-3.6", facts(n_passive=1)) is State.FAILS


def test_theorem_4_1_needs_no_bound_on_the_batch() -> None:
    assert state("hu2022/theorem-4.1", facts("shop", n_active=0, n_passive=3, batch_size=100)) is State.HOLDS
    assert state("hu2022/theorem-4.1", facts("shop", n_active=1, n_passive=3)) is State.FAILS


def test_safe_rounds_are_the_papers() -> None:
    assert safe_rounds(0.01, 0.0, 1.0) == ceil(log(2) / log(1.0025)) == 278
    assert safe_rounds(0.01, 2.0, 1.0) == 0
    assert cubic_safe_rounds(0.01, 0.0) == ceil(log(2.6) / log(1.0025))
    # the recursion of lemma 4.4 itself: h stays below 4 for T rounds and not for more
    h, rounds = 2.5, 0
    while h < 4:
        h, rounds = h * (1 + 0.1 / 4), rounds + 1
    assert safe_rounds(0.1, 0.5, 1.0) == rounds


def test_theorems_4_6_and_4_8_divide_the_starts_between_them() -> None:
    zero = facts("shop", n_active=3, n_passive=20, initialisation="zero")
    assert state("hu2022/theorem-4.6", zero) is State.HOLDS
    assert state("hu2022/theorem-4.8", zero) is State.FAILS
    # 24 columns: Xavier's first scores may reach 1.1; T is then short of an epoch at this rate
    assert state("hu2022/theorem-4.8", replace(zero, initialisation="xavier", learning_rate=0.05)) is State.HOLDS
    assert state("hu2022/theorem-4.8", replace(zero, initialisation="normal")) is State.UNKNOWN


def test_lemma_4_7_constants() -> None:
    rng = np.random.default_rng(1)
    draws = np.abs(rng.standard_normal(400_000)) / PSI1_OF_STANDARD_NORMAL
    assert np.exp(draws).mean() == pytest.approx(2.0, abs=0.01)
    assert paper_confidence(10, 784) > 0.99
    assert paper_confidence(12665, 23) == 0.0
    assert paper_safe_rounds(0.1, 784, 0.01) <= safe_rounds(0.01, 0.0, 1.0)


def test_gaussian_bound_holds_in_simulation() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((200, 50))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    std = sqrt(2 / 51)
    bound = gaussian_bound(std, 1.0, 200, failure=0.05)
    exceeded = [np.abs(rows @ (std * rng.standard_normal(50))).max() > bound for _ in range(400)]
    assert np.mean(exceeded) <= 0.05


def test_theorem_4_10_is_about_three_parties() -> None:
    three = (
        PartyFacts("bank", Role.ACTIVE, 4),
        PartyFacts("shop", Role.PASSIVE, 20),
        PartyFacts("app", Role.PASSIVE, 3),
    )
    given = facts("shop", parties=three, initialisation="zero")
    assert state("hu2022/theorem-4.10", given) is State.HOLDS
    assert state("hu2022/theorem-4.10", replace(given, adversary=("app",))) is State.FAILS
    assert state("hu2022/theorem-4.10", replace(given, adversary=("shop", "app"), batch_size=23)) is State.HOLDS
    assert state("hu2022/theorem-4.10", facts("shop", n_active=3, n_passive=20, initialisation="zero")) is State.FAILS


def test_lemma_6_3_in_simulation_with_the_explicit_constant() -> None:
    rng = np.random.default_rng(3)
    own, other = (_unit_rows(rng, 16, 5) / sqrt(2) for _ in range(2))
    sigma, delta, rounds = 3.0, 0.2, 1
    bound = error_bound(sigma, 16, rounds, delta=delta)
    norms = []
    for _ in range(2000):
        left, right = own.T @ (sigma * rng.standard_normal(16)), other.T @ (sigma * rng.standard_normal(16))
        norms.append(np.linalg.norm(np.concatenate([left, right])) / (4 * 16))
    assert np.mean(np.array(norms) > bound) <= delta
    assert 1 + 2 * sqrt(C_GAUSSIAN) + 2 * C_GAUSSIAN == pytest.approx(4)


def _unit_rows(rng: np.random.Generator, n_rows: int, n_columns: int) -> np.ndarray:
    rows = rng.standard_normal((n_rows, n_columns))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_theorem_6_6_is_shorter_than_without_noise() -> None:
    quiet = safe_rounds(0.01, 0.3, 1.0)
    last = quiet
    for error in (0.0, 0.5, 2.0, 20.0):
        rounds = noisy_safe_rounds(0.01, 0.3, error)
        assert rounds <= last
        last = rounds
    assert noisy_safe_rounds(0.01, 0.3, 0.0) == quiet
    assert state("hu2022/theorem-6.6", facts(score_noise=2.0)) is State.HOLDS
    assert state("hu2022/theorem-6.6", facts()) is State.FAILS
    noisy = THEOREMS.get("hu2022/lemma-6.3")
    assert "with probability 0.95" in noisy.assess(facts(score_noise=2.0)).conclusion
    assert "in all rounds with high" in noisy.assess(facts(score_noise=2.0, max_row_norm=None)).conclusion
    for unknown in ({"max_row_norm": None}, {"learning_rate": None}, {"n_rows": None}):
        found = THEOREMS.get("hu2022/theorem-6.6").assess(facts(score_noise=2.0, **unknown))
        assert found.conclusion.startswith("true scores stay below 2 for the first T~ rounds")


def test_theorem_6_4_bound_shrinks_with_the_rounds_and_grows_with_the_noise() -> None:
    few = utility_bound(gradient_bound=1, error=0.5, start=2, radius=2, rounds=100, delta=0.05)
    many = utility_bound(gradient_bound=1, error=0.5, start=2, radius=2, rounds=10_000, delta=0.05)
    loud = utility_bound(gradient_bound=1, error=5, start=2, radius=2, rounds=10_000, delta=0.05)
    assert many.excess == pytest.approx(few.excess / 10)
    assert loud.excess > many.excess
    assert loud.step_size < many.step_size


def test_noise_levels_in_both_readings_of_equation_71() -> None:
    setting = {"delta": 0.1, "epochs": 30, "rounds": 30, "learning_rate": 0.01, "batch_size": 256}
    proved = noise_levels(epsilon=0.5, **setting)  # type: ignore[arg-type]
    printed = noise_levels(epsilon=0.5, as_printed=True, **setting)  # type: ignore[arg-type]
    assert proved.active == pytest.approx(197, abs=0.5)
    assert proved.passive == pytest.approx(98.5, abs=0.5)
    assert printed.active == pytest.approx(21, abs=0.1)
    with pytest.raises(InputError, match="epsilon must be"):
        noise_levels(epsilon=2.0, **setting)  # type: ignore[arg-type]


def test_lemma_d_2_bounds_two_real_trainings_that_differ_in_one_row() -> None:
    rng = np.random.default_rng(4)
    rows, signs = _unit_rows(rng, 40, 6), rng.choice([-1.0, 1.0], 40)
    rate, size, epochs = 0.5, 8, 5
    others = [rows, rows.copy()]
    others[1][7] = -others[1][7]
    weights, largest = np.zeros((2, 6)), 0.0
    for epoch in range(1, epochs + 1):
        for start in range(0, 40, size):
            batch = slice(start, start + size)
            for which, table in enumerate(others):
                residual = table[batch] @ weights[which] / 4 - signs[batch] / 2
                largest = max(largest, float(np.abs(residual).max()))
                weights[which] -= rate / size * table[batch].T @ residual
        bound = weight_sensitivity(epoch, learning_rate=rate, gradient_bound=largest, batch_size=size)
        assert np.linalg.norm(weights[0] - weights[1]) <= bound
    assert score_sensitivity(weights=0.0, batch_size=8, own_change=8.0, differs=True) == 8.0
    assert score_sensitivity(weights=0.5, batch_size=16, own_change=8.0, differs=False) == 2.0


def test_appendix_theorems() -> None:
    cubic = facts("shop", n_active=3, n_passive=20, initialisation="zero", approximation="cubic")
    assert state("hu2022/theorem-e.3", cubic) is State.HOLDS
    assert state("hu2022/theorem-e.3", replace(cubic, approximation="taylor")) is State.FAILS
    safe = cubic_safe_rounds(0.1, 0.0)
    for rounds, expected in ((safe, State.HOLDS), (safe + 1, State.UNKNOWN)):
        assert state("hu2022/theorem-e.3", replace(cubic, n_rows=16 * rounds)) is expected
    piecewise = replace(cubic, approximation="piecewise", learning_rate=0.01)
    assert state("hu2022/theorem-f.2", piecewise) is State.HOLDS
    assert state("hu2022/theorem-f.2", replace(piecewise, learning_rate=1.0)) is State.UNKNOWN
    wide = THEOREMS.get("hu2022/theorem-f.2").assess(replace(piecewise, max_row_norm=3.0))
    assert any("at most 0.81 in the first epoch" in condition.detail for condition in wide.conditions)  # 9 · 0.01 · 3²
    residual = THEOREMS.get("hu2022/theorem-4.1").assess(piecewise).conditions
    assert not any("sigmoid is known" in one.statement and one.detail != "piecewise" for one in residual)
    assert state("hu2022/theorem-e.2", facts(approximation="cubic")) is State.UNKNOWN  # Q is an assumption
    assert state("hu2022/theorem-e.2", facts(approximation="cubic", n_passive=2)) is State.FAILS
    assert state("hu2022/theorem-f.1", facts(approximation="piecewise", n_epochs=1)) is State.FAILS


def test_theorem_6_4_bounds_a_real_noised_training() -> None:
    rng = np.random.default_rng(5)
    rows, n_rounds, size, sigma, delta = _unit_rows(rng, 64, 6), 400, 16, 2.0, 0.1
    signs = np.sign(rows @ rng.standard_normal(6))

    def loss(weights: np.ndarray) -> float:
        return float(np.mean((rows @ weights - 2 * signs) ** 2) / 8)  # eq. 43

    best = np.linalg.lstsq(rows, 2 * signs, rcond=None)[0]
    error = error_bound(sigma, size, n_rounds, delta=delta)
    radius = 2 * float(np.linalg.norm(best))
    bound = utility_bound(
        gradient_bound=3.0, error=error, start=float(np.linalg.norm(best)), radius=radius, rounds=n_rounds, delta=delta
    )
    weights, total, farthest, steepest = np.zeros(6), np.zeros(6), 0.0, 0.0
    for _ in range(n_rounds):
        total += weights
        batch = rng.choice(64, size, replace=False)
        residual = rows[batch] @ weights / 4 - signs[batch] / 2
        noise = sigma * rng.standard_normal((2, size)) / 4
        gradient = np.concatenate(
            [rows[batch][:, :3].T @ (residual + noise[0]), rows[batch][:, 3:].T @ (residual + noise[1])]
        )
        farthest = max(farthest, float(np.linalg.norm(weights - best)))
        steepest = max(steepest, float(np.abs(residual).max()))
        weights = weights - bound.step_size * gradient / size
    assert steepest <= 3.0  # G
    assert farthest <= radius  # C
    assert loss(total / n_rounds) <= loss(best) + bound.excess
    assert loss(total / n_rounds) < loss(np.zeros(6))  # and something was learnt
