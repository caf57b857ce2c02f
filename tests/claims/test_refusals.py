"""A red team for every refusal: where an attack says "not identifiable", generic estimators are tried on the same view.

One that beats the baseline, by the decision of an audit, shows that the refusal was wrong. Which theorem or rank each
refusal rests on stands in ``test_grounds.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, lsq_linear, milp

import horizontal
from federations import sealed, sealed_arbiter, vertical
from fedleak.attacks import ATTACKS
from fedleak.attacks.arbiter.opened_training import opened_training
from fedleak.attacks.binary.observations import observations
from fedleak.attacks.residuals.batch_systems import batch_systems
from fedleak.attacks.residuals.own_side import OwnScore
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Mode, Outcome, Theory
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.trial.attempt import Attempt, scored
from fedleak.trial.decide import Question, decide
from fedleak.trial.play import play

RUNS = 3
INTEGER_SECONDS = 1.0
Estimator = Callable[[np.ndarray, np.ndarray], np.ndarray]


def minimum_norm(matrix, right):
    return np.linalg.lstsq(matrix, right, rcond=1e-9)[0]


def ridge(matrix, right):
    weight = 0.1 * np.mean(np.sum(matrix**2, axis=0)) + 1e-12
    return np.linalg.solve(matrix.T @ matrix + weight * np.eye(matrix.shape[1]), matrix.T @ right)


def bounded(matrix, right):
    if right.ndim > 1:
        return np.column_stack([bounded(matrix, column) for column in right.T])
    largest = 2 * float(np.abs(minimum_norm(matrix, right)).max(initial=0.0)) + 1e-9
    return lsq_linear(matrix, right, bounds=(-largest, largest)).x


def integer(matrix, right):
    """Residuals of -1/2 and 1/2 that leave the least of the equations over, by HiGHS with a time limit."""
    if right.ndim > 1:
        return minimum_norm(matrix, right)
    n_equations, n_unknowns = matrix.shape
    over = np.eye(n_equations)
    rows = np.block([[matrix, over], [matrix, -over]])
    shift = right + matrix.sum(axis=1) / 2
    found = milp(
        np.concatenate([np.zeros(n_unknowns), np.ones(n_equations)]),
        constraints=LinearConstraint(
            rows,
            np.concatenate([shift, np.full(n_equations, -np.inf)]),
            np.concatenate([np.full(n_equations, np.inf), shift]),
        ),
        integrality=np.concatenate([np.ones(n_unknowns), np.zeros(n_equations)]),
        bounds=Bounds(0, np.concatenate([np.ones(n_unknowns), np.full(n_equations, np.inf)])),
        options={"time_limit": INTEGER_SECONDS},
    )
    return minimum_norm(matrix, right) if found.x is None else found.x[:n_unknowns] - 0.5


ESTIMATORS = (minimum_norm, ridge, bounded, integer)


def residuals_of(view, estimate: Estimator):
    for system in batch_systems(view):
        yield system, estimate(system.rows.T, len(system.ids) * system.gradient)


def estimated_residuals(view, estimate):
    found = list(residuals_of(view, estimate))
    ids = np.concatenate([np.column_stack([np.full(len(s.ids), s.round), s.ids]) for s, _ in found])
    return ids, np.concatenate([values for _, values in found])[:, None]


def estimated_labels(view, estimate):
    total: dict[int, float] = {}
    for system, values in residuals_of(view, estimate):
        for row, value in zip(system.ids.tolist(), values.tolist(), strict=True):
            total[row] = total.get(row, 0.0) - value
    ids = np.array(sorted(total))
    return ids, np.array([[total[int(row)]] for row in ids])


def estimated_scores(view, estimate):
    """Solved for the scores themselves: residuals of least norm, less the label, would tell the own labels again."""
    own = OwnScore(view)
    signs = own.signs if own.signs is not None else np.zeros(len(own.row_ids))
    ids, values = [], []
    for system in batch_systems(view):
        rows = own.positions(system.ids)
        known = 2 * signs[rows] - own.scores(system.round, rows)
        ids.append(np.column_stack([np.full(len(rows), system.round), system.ids]))
        right = 4 * len(rows) * system.gradient + system.rows.T @ known
        values.append(estimate(system.rows.T, right))
    return np.concatenate(ids), np.concatenate(values)[:, None]


def estimated_rows(view, estimate):
    """With an arbiter: each row from its own scores, less the part that never moves."""
    training = opened_training(view)
    values = np.zeros((training.n_rows, training.n_columns))
    for row in range(training.n_rows):
        mine = training.row == row
        walked = training.walked[training.round[mine]]
        matrix = np.column_stack([walked, np.ones(len(walked))]) if training.open_start else walked
        values[row] = estimate(matrix, training.scores[mine])[: training.n_columns]
    return training.ids, values[:, training.columns]


def estimated_products(view, estimate):
    seen = observations(view)
    design = np.column_stack([seen.models / 4, np.full(len(seen.models), -0.5)])
    found = estimate(design, seen.updates / seen.rates[:, None]).T
    return np.arange(seen.n_columns), found


BY_KIND = {
    SecretKind.RESIDUALS: estimated_residuals,
    SecretKind.LABELS: estimated_labels,
    SecretKind.PARTIAL_SCORES: estimated_scores,
    SecretKind.FEATURES: estimated_rows,
    SecretKind.COLUMN_PRODUCTS: estimated_products,
}


def guess_of(view, estimate) -> Guess:
    ids, values = BY_KIND[view.target.kind](view, estimate)
    if view.target.kind is not SecretKind.LABELS:
        return Guess(view.target, Status.PARTIAL, ids, values)
    sure = np.abs(values) / max(float(np.abs(values).max()), 1e-300)
    return Guess(view.target, Status.PARTIAL, ids, (values > 0).astype(float), confidence=0.5 + 0.5 * sure)


def logistic(mine: int, theirs: int, batch_size: int, *, n_rows: int = 24, **changes):
    return lambda: vertical({"bank": mine, "fintech": theirs}, sealed(batch_size=batch_size, **changes), n_rows=n_rows)


def with_arbiter(epochs: int, width: int, **changes):
    settings = sealed_arbiter(epochs=epochs, batch_size=24, initialisation="zero", **changes)
    widths = {"bank": 2, "fintech": width, "referee": 0}
    return lambda: vertical(widths, settings, n_rows=24, protocol="vertical-logistic-arbiter")


def averaged(rounds: int, width: int):
    settings = HorizontalLogisticSettings(rounds=rounds, learning_rate=0.01)
    tables = {"a": horizontal.binary(6, width, 1), "b": horizontal.binary(8, width, 2)}
    return lambda: horizontal.federation(tables, settings)


RESIDUALS, LABELS = Secret(SecretKind.RESIDUALS, "*"), Secret(SecretKind.LABELS, "bank")
SCORES, ROWS = Secret(SecretKind.PARTIAL_SCORES, "fintech"), Secret(SecretKind.FEATURES, "fintech")
PRODUCTS = Secret(SecretKind.COLUMN_PRODUCTS, "b")
GRID = {
    **{
        f"{name}, s = {size}, {start}": (name, logistic(3, 3, size, initialisation=start), who, target)
        for size in (6, 12, 24)
        for start in ("zero", "normal")
        for name, who, target in (
            ("residual-recovery", ("fintech",), RESIDUALS),
            ("residual-sign", ("fintech",), LABELS),
            ("sign-system-labels", ("fintech",), LABELS),
            ("score-recovery", ("bank",), SCORES),
        )
    },
    **{
        f"arbiter-collusion, {epochs} epochs, {width} columns": (
            "arbiter-collusion",
            with_arbiter(epochs, width),
            ("bank", "referee"),
            ROWS,
        )
        for epochs, width in ((1, 4), (2, 5), (3, 5), (4, 6))
    },
    **{
        f"column-products, {rounds} rounds": ("column-products", averaged(rounds, 6), ("a",), PRODUCTS)
        for rounds in (2, 4, 6)
    },
}
SUM_OF_TWO = "score-recovery, two outside"
MADE = {
    **GRID,
    SUM_OF_TWO: (
        "score-recovery",
        lambda: vertical(
            {"bank": 12, "fintech": 2, "shop": 2}, sealed(batch_size=6, initialisation="normal"), n_rows=96
        ),
        ("bank",),
        SCORES,
    ),
}


def decided(case: str, attempts: list[Attempt]) -> Outcome:
    name, _, coalition, target = MADE[case]
    return decide(Question(coalition, Mode.PASSIVE, name, target, None, Theory("unknown", ())), attempts).outcome


# Scores go with the labels that they were trained on: of few rows it is luck that an answer tells more than those.
MANY_ROWS = {
    f"score-recovery, s = 6, {start}": (
        "score-recovery",
        logistic(3, 3, 6, n_rows=96, initialisation=start),
        ("bank",),
        SCORES,
    )
    for start in ("zero", "normal")
}
TOLD_IN_PART = [
    *(f"score-recovery, s = 6, {start}" for start in ("zero", "normal")),
    *(f"arbiter-collusion, {epochs} epochs, {width} columns" for epochs, width in ((2, 5), (3, 5), (4, 6))),
    *(f"column-products, {rounds} rounds" for rounds in (4, 6)),
]


@pytest.mark.parametrize("case", TOLD_IN_PART)
def test_what_is_not_determined_and_still_learnt_is_answered_in_part(case):
    name, made, coalition, target = MANY_ROWS.get(case, GRID[case])
    federation = made()
    runs = [play(federation, Randomness.published(seed)) for seed in range(RUNS)]
    attempts = [one.attempt(ATTACKS.get(name), coalition, target, isolated=False) for one in runs]
    assert {one.guess.status for one in attempts} == {Status.PARTIAL}
    assert "directions are determined; the rest is filled with nothing" in attempts[0].guess.why
    assert decided(case, attempts) is Outcome.LEAK


@pytest.mark.parametrize("case", GRID)
def test_what_is_refused_no_generic_estimator_finds(case):
    attacked_by_the_red_team(case, RUNS)


def test_a_sum_of_two_tells_of_each_and_is_not_refused():
    name, made, coalition, target = MADE[SUM_OF_TWO]
    runs = [play(made(), Randomness.published(seed)) for seed in range(10)]
    attempts = [one.attempt(ATTACKS.get(name), coalition, target, isolated=False) for one in runs]
    assert {one.guess.status for one in attempts} == {Status.PARTIAL}
    assert decided(SUM_OF_TWO, attempts) is Outcome.LEAK


def attacked_by_the_red_team(case: str, n_runs: int) -> None:
    name, made, coalition, target = MADE[case]
    federation = made()
    runs = [play(federation, Randomness.published(seed)) for seed in range(n_runs)]
    attack = ATTACKS.get(name)
    answers = [one.attempt(attack, coalition, target, scores=False, isolated=False) for one in runs]
    refused = [one.guess.status is Status.NOT_IDENTIFIABLE for one in answers]
    for estimate in ESTIMATORS:
        attempts = [
            scored(
                replace(answer, result=guess_of(one.view(coalition, target), estimate)),
                one.run.truth,
                np.random.default_rng(0),
            )
            for one, answer in zip(runs, answers, strict=True)
        ]
        outcome = decided(case, attempts)
        assert not (all(refused) and outcome is Outcome.LEAK), f"{estimate.__name__} beats the baseline"


def test_the_red_team_finds_what_is_there():
    """Labels of batches beyond the own columns leak to residuals of smallest norm: nobody may refuse them."""
    federation = logistic(3, 8, 12, initialisation="zero")()
    played = play(federation, Randomness.published(0))
    view = played.view(("fintech",), LABELS)
    attempt = Attempt(
        ATTACKS.get("residual-sign"), ("fintech",), LABELS, Knowledge(), guess_of(view, minimum_norm), 0.0
    )
    found = scored(attempt, played.run.truth, np.random.default_rng(0))
    assert decided("residual-sign, s = 12, zero", [found]) is Outcome.LEAK
