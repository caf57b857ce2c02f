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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate
from fedleak.attacks.gram.gram_recovery import WITH_LABELS, answer_by_gram
from fedleak.attacks.inversion.rotation_fit import ColumnKnowledge, MatchingProblem, column_knowledge, match
from fedleak.attacks.inversion.rotation_problem import Anchor, RotationProblem
from fedleak.attacks.inversion.rotation_starts import independent_start, moment_starts, named_components, random_start
from fedleak.attacks.predictions.prediction_queries import whole_weights
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.condition import State
from fedleak.theory.inner_products import GramRecovery
from fedleak.theory.rotation_freedom import degrees_of_freedom

N_RANDOM = 20
SAFETY = 10.0


@dataclass(frozen=True, eq=False)
class _Found:
    rotation: FloatArray
    misfit: float
    n_exact: int  # columns that their few possible values determine
    ambiguous: bool  # two different exact answers for a column


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


def rotate_into_place(view: View, ids: IntArray, gram: GramEstimate, rng: np.random.Generator) -> Guess:
    columns, sample = column_knowledge(view.knowledge, view.target.owner, gram.factor.shape[1])
    anchor, source = _stolen(view, gram)
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
        return nothing(view, why, evidence, width=len(columns))
    if independent is not None and anchor is not None and source is not None:
        independent = named_components(independent, source, anchor)
    found = _close(gram, columns, sample, anchor, source, independent, rng)
    return _guess(view, ids, gram, found, evidence)


def _guess(view: View, ids: IntArray, gram: GramEstimate, found: _Found, evidence: Mapping[str, ScalarValue]) -> Guess:
    width = gram.factor.shape[1]
    whole = found.n_exact >= width - 1 and not found.ambiguous
    why = (
        "the columns' few possible values leave one rotation"
        if whole
        else f"{found.n_exact} of {width} columns are determined exactly, the others matched to what is known of them"
    )
    return Guess(
        view.target,
        Status.RECOVERED if whole else Status.PARTIAL,
        ids,
        gram.factor @ found.rotation,
        evidence={**evidence, "columns determined exactly": found.n_exact, "misfit of the columns": found.misfit},
        why=why,
    )


def _stolen(view: View, gram: GramEstimate) -> tuple[Anchor | None, FloatArray | None]:
    weights = whole_weights(view)
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
    rng: np.random.Generator,
) -> _Found:
    """The exact columns first, then the best of several matchings of the others, judged by the misfit alone."""
    fixed, ambiguous = _exact_columns(gram, columns, anchor, source)
    problem = MatchingProblem(gram.factor, columns, fixed, anchor, source)
    # Components come first, and so are preferred where nothing known of the columns tells the starts apart.
    starts = [] if independent is None else [independent]
    starts += [random_start(len(columns), rng) for _ in range(N_RANDOM)]
    if sample is not None:
        starts += moment_starts(gram.factor, sample, source, anchor)
    results = [match(problem, start) for start in starts]
    rotation, misfit = min(results, key=lambda result: result[1])
    return _Found(rotation, misfit, len(fixed), ambiguous)


def _exact_columns(
    gram: GramEstimate, columns: list[ColumnKnowledge], anchor: Anchor | None, source: FloatArray | None
) -> tuple[dict[int, FloatArray], bool]:
    """Columns of R that few possible values determine; where two answers remain, none is taken."""
    fixed: dict[int, FloatArray] = {}
    ambiguous = False
    tolerance = SAFETY * gram.cell_error
    for index, known in enumerate(columns):
        if known.values is None or len(known.values) < 2:
            continue
        found = unit_combinations(gram.factor, known.values, tolerance)
        if not found:
            continue
        if anchor is not None and source is not None:
            near = 1e-4 * float(np.linalg.norm(anchor.weights))
            found = [r for r in found if abs(float(r @ source) - float(anchor.weights[index])) <= near]
        free = [r for r in found if all(abs(float(r @ other)) < 1e-4 for other in fixed.values())]
        ambiguous = ambiguous or len(free) > 1
        if len(free) == 1:
            fixed[index] = free[0]
    return fixed, ambiguous


def _named(columns: list[ColumnKnowledge], sample: FloatArray | None) -> str:
    kinds = dict.fromkeys(known.what for known in columns if known.what != "nothing")
    if sample is not None:
        kinds[f"a public sample of {len(sample)} rows"] = None
    return ", ".join(kinds) or "nothing"


MOST_PATTERNS = 3_000_000
CHUNK = 100_000


def unit_combinations(factor: FloatArray, values: FloatArray, tolerance: float) -> list[FloatArray] | None:
    """All unit vectors r for which F r takes these values only; None if there are too many patterns to try."""
    from scipy.linalg import qr

    width = factor.shape[1]
    if len(values) ** width > MOST_PATTERNS:
        return None
    _, _, pivots = qr(factor.T, mode="economic", pivoting=True)
    chosen = pivots[:width]
    inverse = np.linalg.inv(factor[chosen])
    slack = tolerance * float(np.linalg.norm(inverse, 2)) * np.sqrt(width)
    found: list[FloatArray] = []
    for patterns in _patterns(values, width):
        candidates = patterns @ inverse.T
        right_length = np.abs(np.linalg.norm(candidates, axis=1) - 1.0) <= 3 * slack + 1e-9
        found.extend(r for r in candidates[right_length] if _fits(factor @ r, values, 30 * (tolerance + slack)))
    return [r / np.linalg.norm(r) for r in found]


def _patterns(values: FloatArray, width: int) -> Iterator[FloatArray]:
    """All tuples of values, in chunks."""
    n_inner = max(1, min(width, int(np.log(CHUNK) / np.log(max(len(values), 2)))))
    inner = np.array(list(product(values, repeat=n_inner)))
    for outer in product(values, repeat=width - n_inner):
        yield np.hstack([np.broadcast_to(np.array(outer, dtype=np.float64), (len(inner), len(outer))), inner])


def _fits(column: FloatArray, values: FloatArray, slack: float) -> bool:
    return bool((np.abs(column[:, None] - values[None, :]).min(axis=1) <= slack + 1e-9).all())
