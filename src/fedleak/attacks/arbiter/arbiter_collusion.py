"""A party's rows, by a coalition of the arbiter and any data party (Li et al. 2021, section 4.1, taken further).

The arbiter opens every gradient, and so knows every step of everybody's weights; with its key a data party opens the
residuals, and the active party each partner's scores. The paper uses the gradients alone, X^T d, one residual vector a
row. But a score is the row times weights whose steps are known: n unknowns a row, an equation for each visit. Both are
linear in the rows, and are solved together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.arbiter.gradient_equations import Solved, solve_columns, solve_jointly, too_large
from fedleak.attacks.arbiter.least_norm_rows import least_norm_rows
from fedleak.attacks.arbiter.opened_training import OpenedTraining, opened_training
from fedleak.attacks.arbiter.row_equations import FINE, RowEquations, fits, solve_rows, spread
from fedleak.attacks.verdicts import from_assessment, in_part
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.arbiter_equations import ArbiterCollusion as CollusionTheorem

COARSE = 0.01  # a cell must be known to this share of its column's spread,
DEVIATIONS = 4.0  # at so many standard deviations


@dataclass(frozen=True, eq=False)
class _Answer:
    """``checked`` says which spare equations the answer satisfies; empty where there is none."""

    solved: Solved
    way: str
    checked: str
    cut: bool = False  # a system that might say more was too large


class ArbiterCollusion(Attack):
    name = "arbiter-collusion"
    aliases = ("reverse-multiplication",)  # Weng et al. 2020: differences of a row's scores, a part of what is solved
    summary = "with the arbiter's key, solves every party's gradients and scores together for its rows"
    reference = Reference("li2021", "section 4.1, multi-party")
    requires = frozenset(
        {Capability.ALL_GRADIENTS, Capability.DECRYPTION_KEY, Capability.CIPHERTEXTS, Capability.BATCH_IDS}
    )
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        training = opened_training(view)
        answer = _best(training)
        known = _known(answer.solved)[:, training.columns]
        values = np.where(known, answer.solved.values[:, training.columns], np.nan)
        whole = bool(known.all())
        guess = Guess(
            view.target,
            Status.RECOVERED if whole else Status.PARTIAL if known.any() else Status.UNDETERMINED,
            training.ids,
            values,
            evidence={
                "rounds": training.n_rounds,
                "equations": training.n_equations,
                "unknowns": training.n_unknowns,
                "spare equations": answer.solved.n_spare,
                "solved by": answer.way,
                "determined cells": int(known.sum()),
                **_typical(answer.solved.errors[:, training.columns]),
            },
            why=_sentence(training, answer, known),
            certificate=_certificate(answer) if whole and answer.checked else "",
        )
        return guess if known.any() or training.n_equations >= training.least_unknowns else _in_part(training, guess)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(CollusionTheorem.assess(facts), if_fails=Verdict.PARTIAL)


def _best(training: OpenedTraining) -> _Answer:
    """Rows by themselves where their visits do; else gradients too, which need no scores where those are noisy."""
    columns: _Answer | None = None
    too_few_visits = np.bincount(training.row).min() < training.n_columns + training.open_start
    if too_few_visits:
        columns = _columns(training)
        if columns is not None and _fine(columns.solved):
            return columns
    rows = solve_rows(training)
    found = [_rows(training, rows), _jointly(training, rows)]
    if not any(answer is not None and _known(answer.solved).all() for answer in found):
        found.append(columns if too_few_visits else _columns(training))
    answers = [answer for answer in found if answer is not None] or [_nothing(training)]
    best = max(answers, key=lambda answer: (int(_known(answer.solved).sum()), -float(np.median(answer.solved.errors))))
    return replace(best, cut=rows.consistent and too_large(training, rows))


def _columns(training: OpenedTraining) -> _Answer | None:
    """Gradients are of the residuals that were used: what noise these hold does no harm."""
    solved = solve_columns(training)
    if solved is None or not fits(solved.misfit, solved.n_spare):
        return None
    return _Answer(solved, "gradients", _scores_hold(training, solved) or _spare(solved))


def _rows(training: OpenedTraining, rows: RowEquations) -> _Answer | None:
    """Scores may hold noise that nobody declared: they are believed where equations are to spare, or gradients hold."""
    solved = Solved(rows.values, rows.all_errors(), rows.misfit, rows.n_spare)
    checked = _gradients_hold(training, solved)
    believed = rows.consistent and (bool(checked) or rows.n_spare >= training.n_rows)
    return _Answer(solved, "scores", checked) if believed else None


def _jointly(training: OpenedTraining, rows: RowEquations) -> _Answer | None:
    if not rows.consistent or not len(rows.owner):
        return None
    solved = solve_jointly(training, rows)
    if solved is None or solved.n_spare == 0 or not fits(solved.misfit, solved.n_spare):
        return None
    return _Answer(solved, "scores and gradients together", _spare(solved))


def _spare(solved: Solved) -> str:
    return f"{solved.n_spare} equations more than unknowns hold" if solved.n_spare else ""


def _gradients_hold(training: OpenedTraining, solved: Solved) -> str:
    """Gradients that were not used: those of the rows found, less the first weights where these are unknown."""
    if not np.isfinite(solved.errors).all():
        return ""
    expected = _summed(training, solved.values, training.pushes)
    variance = training.gradient_error**2 + _summed(training, solved.errors**2, training.pushes**2)
    gap = training.gradients - training.l2 * training.walked - expected
    n_spare = gap.size
    if training.open_weights:
        gap = gap - np.sum(gap / variance, axis=0) / np.sum(1 / variance, axis=0)
        n_spare -= training.n_columns
    holds = n_spare > 0 and fits(float(np.sum(gap**2 / variance)), n_spare)
    return f"{n_spare} gradient equations that were not used hold" if holds else ""


def _scores_hold(training: OpenedTraining, solved: Solved) -> str:
    """Scores that were not used: those of the rows found, less each row's part that never moves."""
    if not np.isfinite(solved.errors).all():
        return ""
    expected, variance = np.zeros(len(training.row)), training.score_error[training.round] ** 2
    for values, errors, walked in zip(solved.values.T, solved.errors.T, training.walked.T, strict=True):
        expected += values[training.row] * walked[training.round]
        variance = variance + (errors[training.row] * walked[training.round]) ** 2
    gap = training.scores - expected
    n_spare = len(gap)
    if training.open_start:
        weight = np.bincount(training.row, weights=1 / variance)
        gap = gap - (np.bincount(training.row, weights=gap / variance) / weight)[training.row]
        n_spare -= training.n_rows
    holds = n_spare > 0 and fits(float(np.sum(gap**2 / variance)), n_spare)
    return f"{n_spare} score equations that were not used hold" if holds else ""


def _summed(training: OpenedTraining, values: FloatArray, weights: FloatArray) -> FloatArray:
    """(rounds, columns): over each round's rows."""
    return np.column_stack(
        [
            np.bincount(training.round, weights=weights * column[training.row], minlength=training.n_rounds)
            for column in values.T
        ]
    )


def _nothing(training: OpenedTraining) -> _Answer:
    shape = (training.n_rows, training.n_columns)
    return _Answer(Solved(np.zeros(shape), np.full(shape, np.inf), 0.0, 0), "nothing", "")


def _known(solved: Solved) -> BoolArray:
    return DEVIATIONS * solved.errors <= COARSE * spread(solved.values, solved.errors)


def _fine(solved: Solved) -> bool:
    return bool(np.all(solved.errors <= FINE * spread(solved.values, solved.errors)))


def _typical(errors: FloatArray) -> dict[str, float]:
    finite = errors[np.isfinite(errors)]
    return {"expected error of a cell": float(np.median(finite))} if len(finite) else {}


def _in_part(training: OpenedTraining, silent: Guess) -> Guess:
    """Fewer equations than unknowns leave a family of tables, which all agree in the directions that these determine;
    where there are enough, it is digits, or rounds that are dependent."""
    found = least_norm_rows(training)
    return replace(
        silent,
        status=Status.PARTIAL if found.rank else Status.NOT_IDENTIFIABLE,
        values=found.values[:, training.columns],
        evidence={**silent.evidence, "rank": found.rank},
        why=f"{silent.why}; {in_part(found.rank, training.n_unknowns)}",
    )


def _sentence(training: OpenedTraining, answer: _Answer, known: BoolArray) -> str:
    counts = f"{training.n_equations} equations for {training.n_unknowns} unknowns, solved by {answer.way}"
    if known.all():
        return counts
    return f"{counts}; {int((~known).sum())} of {known.size} cells are not determined: {_lack(training, answer)}"


def _lack(training: OpenedTraining, answer: _Answer) -> str:
    if training.n_equations < training.n_unknowns:
        return "too few equations"
    if answer.cut:
        return "all together are more than the budget of one system"
    return "too few digits, or rounds that depend on each other"


def _certificate(answer: _Answer) -> str:
    return (
        f"the linear system of the opened {answer.way} has full rank, so that one table fits, and {answer.checked} "
        "to within rounding"
    )
