"""A passive party's rows without a single known cell, from what is known of its columns. Ours; beyond Li et al. 2021.

The inner products fix the table up to one rotation. Knowledge of columns closes it: few possible values determine a
column exactly; a range, a marginal or a public sample of similar people pull the rotation into place; independent
columns show by themselves. The stolen weights say which column is which.

Columns with few possible values are found exactly. A column of the victim is F r with a unit vector r. On n independent
rows it takes one of finitely many patterns, each of which determines r; nearly all of them have the wrong length, and
of the rest nearly all leave the possible values on some other row. What survives is a column of the victim, or of
nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate
from fedleak.attacks.gram.gram_recovery import WITH_LABELS, answer_by_gram
from fedleak.attacks.inversion.few_values import SAFETY, SAME_SHARE, exact_columns, groups_of_few_values
from fedleak.attacks.inversion.joint_knowledge import joint_columns, joint_weights
from fedleak.attacks.inversion.rotation_fit import ColumnKnowledge, MatchingProblem, match
from fedleak.attacks.inversion.rotation_problem import Anchor, RotationProblem
from fedleak.attacks.inversion.rotation_starts import independent_start, moment_starts, named_components, random_start
from fedleak.attacks.residuals.joint_victim import JointVictim, joint_victim
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.condition import State
from fedleak.theory.inner_products import GramRecovery
from fedleak.theory.rotation_freedom import degrees_of_freedom

N_RANDOM = 20


@dataclass(frozen=True, eq=False)
class _Found:
    rotation: FloatArray
    misfit: float
    n_exact: int  # columns that their few possible values determine
    ambiguous: bool  # two different exact answers for a column
    open_sign: int | None  # the one column that is left, where nothing tells it from its opposite


class RotationMatching(Attack):
    name = "rotation-matching"
    summary = "closes the rotation of the inner products by what is known of the columns, without known cells"
    reference = Reference("fedleak", "beyond li2021, section 4.3")
    requires = WITH_LABELS
    preloads = ("scipy.linalg", "scipy.optimize", "fedleak.attacks.gram.gram_search")
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return answer_by_gram(view, rng, rotate_into_place)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        gram = GramRecovery.assess(facts)
        if gram.state is State.FAILS:
            return Prediction(Verdict.IMPOSSIBLE, gram.reasons)
        return Prediction(Verdict.UNKNOWN, ("it depends on what is known of the victim's columns", *gram.reasons))


class UnnamedRotationMatching(RotationMatching):
    """Columns of which the same is known are found as a set: without the weights nothing says which is which."""

    name = "rotation-matching-unnamed"
    summary = "the same without the stolen weights: the columns, but not which is which"
    up_to = frozenset({Symmetry.COLUMN_ORDER})

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return answer_by_gram(view, rng, _rotate_unnamed)


def rotate_into_place(view: View, ids: IntArray, gram: GramEstimate, rng: np.random.Generator) -> Guess:
    return _rotated(view, ids, gram, rng, _stolen(view, gram), named=True)


def _rotate_unnamed(view: View, ids: IntArray, gram: GramEstimate, rng: np.random.Generator) -> Guess:
    victim = joint_victim(view)
    if victim.several:
        why = f"the columns of {' and '.join(victim.owners)} are one set, and nothing says whose is which"
        return nothing(view, why, {}, width=victim.n_columns, status=Status.UNDETERMINED)
    return _rotated(view, ids, gram, rng, (None, None), named=False)


def _rotated(
    view: View,
    ids: IntArray,
    gram: GramEstimate,
    rng: np.random.Generator,
    stolen: tuple[Anchor | None, FloatArray | None],
    *,
    named: bool,
) -> Guess:
    victim = joint_victim(view)
    columns, sample = joint_columns(view.knowledge, victim)
    anchor, source = stolen
    informed = sample is not None or any(known.what != "nothing" for known in columns)
    evidence: dict[str, ScalarValue] = {
        "expected error of the inner products": gram.gram_error,
        "weights stolen": anchor is not None,
        "knowledge used": _named(columns, sample),
    }
    independent = None
    if anchor is not None and source is not None:
        independent = independent_start(gram.factor, rng)
        evidence["independent components"] = independent is not None
    if not informed and independent is None:
        free = degrees_of_freedom(len(columns), with_weights=anchor is not None)
        why = f"nothing is known of the columns: a family of {free} dimensions fits"
        return nothing(view, why, evidence, width=victim.n_columns)
    if independent is not None and anchor is not None and source is not None:
        independent = named_components(independent, source, anchor)
    groups = groups_of_few_values(columns, named=named)
    found = _close(gram, columns, sample, anchor, source, independent, groups, rng)
    mine = range(len(columns))[victim.columns]
    either = found.open_sign is not None and found.open_sign in mine and columns[found.open_sign].what == "nothing"
    return _guess(view, ids, gram, found, evidence, victim=victim, both_signs=either)


def _guess(
    view: View,
    ids: IntArray,
    gram: GramEstimate,
    found: _Found,
    evidence: Mapping[str, ScalarValue],
    *,
    victim: JointVictim,
    both_signs: bool,
) -> Guess:
    """``both_signs``: the last column and its opposite are equally good answers."""
    table = gram.factor @ found.rotation
    candidates: tuple[FloatArray, ...] = ()
    if both_signs:
        flipped = table.copy()
        flipped[:, found.open_sign] *= -1
        candidates = (table[:, victim.columns], flipped[:, victim.columns])
    status, why = _claim(found, victim, several=both_signs)
    return Guess(
        view.target,
        status,
        ids,
        table[:, victim.columns],
        candidates=candidates,
        evidence={**evidence, "columns determined exactly": found.n_exact, "misfit of the columns": found.misfit},
        why=why,
    )


def _claim(found: _Found, victim: JointVictim, *, several: bool) -> tuple[Status, str]:
    width = victim.width
    if found.n_exact >= width - 1 and not found.ambiguous and found.open_sign is None:
        return Status.RECOVERED, "the columns' few possible values leave one rotation"
    why = f"{found.n_exact} of {width} columns are determined exactly"
    if found.open_sign is not None:
        why = f"{why}, and the last one but for its sign"
    elif found.n_exact < width:
        why = f"{why}, the others matched to what is known of them"
    if found.ambiguous:
        why = f"{why}; several columns fit what is known of one, and which column is which stays open"
    return (Status.UNDETERMINED if several else Status.PARTIAL), why


def _stolen(view: View, gram: GramEstimate) -> tuple[Anchor | None, FloatArray | None]:
    weights = joint_weights(view, joint_victim(view))
    if weights is None:
        return None, None
    anchor = Anchor(weights, gram.end_scores)
    none = np.zeros(0, dtype=np.int64)
    return anchor, RotationProblem(gram.factor, none, none, np.zeros(0), anchor).anchor_source()


def _close(
    gram: GramEstimate,
    columns: list[ColumnKnowledge],
    sample: FloatArray | None,
    anchor: Anchor | None,
    source: FloatArray | None,
    independent: FloatArray | None,
    groups: list[list[int]],
    rng: np.random.Generator,
) -> _Found:
    """The exact columns first, then the best of several matchings of the others, judged by the misfit alone."""
    fixed, ambiguous = exact_columns(gram, columns, anchor, source, groups)
    problem = MatchingProblem(gram.factor, columns, fixed, anchor, source)
    # Components come first, and so are preferred where nothing known of the columns tells the starts apart.
    starts = [] if independent is None else [independent]
    starts += [random_start(len(columns), rng) for _ in range(N_RANDOM)]
    if sample is not None:
        starts += moment_starts(gram.factor, sample, source, anchor)
    results = [match(problem, start) for start in starts]
    rotation, misfit = min(results, key=lambda result: result[1])
    last = problem.open_columns[0] if len(problem.open_columns) == 1 else None
    if last is not None and _against_the_weights(problem, rotation[:, last], last):
        rotation = np.where(np.arange(len(columns)) == last, -rotation, rotation)
        misfit = problem.misfit(rotation)
    if last is not None and _sign_settled(problem, rotation[:, last], last, _slack(gram)):
        last = None
    return _Found(rotation, misfit, len(fixed), ambiguous, last)


def _slack(gram: GramEstimate) -> float:
    """Beyond this a cell is not what it should be."""
    return 30 * SAFETY * gram.cell_error + 1e-9


def _against_the_weights(problem: MatchingProblem, direction: FloatArray, index: int) -> bool:
    """Of a column of which nothing is known, the wrong sign fits as well as the right one, but not the weights."""
    if problem.anchor is None or problem.source is None:
        return False
    return float(direction @ problem.source) * float(problem.anchor.weights[index]) < 0


def _sign_settled(problem: MatchingProblem, direction: FloatArray, index: int, slack: float) -> bool:
    """The column is orthogonal to all others, and so is its opposite: the weights, or its range, must exclude one."""
    if problem.anchor is not None and problem.source is not None:
        weights = problem.anchor.weights
        size, share = float(np.linalg.norm(weights)), float(direction @ problem.source)
        if abs(share) > SAME_SHARE * size and abs(share - float(weights[index])) <= SAME_SHARE * size:
            return True
    known, column = problem.columns[index], problem.factor @ direction
    if known.sample is not None:
        return False
    fits, opposite = (float(np.abs(each - known.nearest(each)).max()) for each in (column, -column))
    return fits <= slack < opposite


def _named(columns: list[ColumnKnowledge], sample: FloatArray | None) -> str:
    kinds = dict.fromkeys(known.what for known in columns if known.what != "nothing")
    if sample is not None:
        kinds[f"a public sample of {len(sample)} rows"] = None
    return ", ".join(kinds) or "nothing"
