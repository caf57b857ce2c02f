"""From an inversion to a guess: what may be called recovered, and what is no answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedleak.attacks.inversion.solve import Answer, Inversion
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.guess import Guess, Status
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View

FINE = 0.05  # an expected cell error up to this share of a typical cell is a recovery
USELESS = 0.5  # and beyond this one, no answer


def graded_guess(
    view: View,
    ids: IntArray,
    tables: tuple[FloatArray, ...],
    found: Inversion,
    expected: float,
    evidence: Mapping[str, ScalarValue],
) -> Guess:
    """``tables`` are the solutions that remain, ``expected`` the error of a cell as a share of a typical one."""
    width = view.facts.party(view.target.owner).n_features or 0
    evidence = {**evidence, "expected relative error of a cell": expected if np.isfinite(expected) else None}
    if found.answer is Answer.TOO_FEW:
        return _silent(view, Status.NOT_IDENTIFIABLE, found.why, evidence, width)
    if not tables:
        return _silent(view, Status.UNDETERMINED, found.why, evidence, width)
    if not expected <= USELESS:
        why = f"the inner products are not known well enough: a cell would be off by {expected:.1g} of its size"
        return _silent(view, Status.UNDETERMINED, why, evidence, width)
    several = found.answer is not Answer.UNIQUE
    status = Status.UNDETERMINED if several else Status.RECOVERED if expected <= FINE else Status.PARTIAL
    return Guess(
        view.target, status, ids, tables[0], candidates=tables if several else (), evidence=evidence, why=found.why
    )


def _silent(view: View, status: Status, why: str, evidence: Mapping[str, ScalarValue], width: int) -> Guess:
    return Guess(view.target, status, np.zeros(0, dtype=np.int64), np.zeros((0, width)), evidence=evidence, why=why)
