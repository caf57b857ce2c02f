"""Inner products of the others' columns from the sum of updates (Li et al. 2019, sections 3.2 to 3.4)."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.binary.labels import sure_parity
from fedleak.attacks.binary.observations import observations
from fedleak.attacks.binary.products import Products, observed_products
from fedleak.attacks.expectation import from_assessment
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.payload import ScalarValue
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.theory.li2019.linear_update import LinearUpdate


class ColumnProducts(Attack):
    """α = XᵀX and β = XᵀY over all rows outside the coalition, whosever they are."""

    name = "column-products"
    summary = "solves the others' updates for the inner products of their columns, and with their labels"
    reference = Reference("li2019", "sections 3.2 to 3.4")
    requires = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS})
    produces = SecretKind.COLUMN_PRODUCTS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        seen = observations(view)
        groups = observed_products(seen, rng)
        status, why = status_of(groups)
        values = np.full((seen.n_columns, seen.n_columns + 1), np.nan)
        if all(group.alpha is not None for group in groups):
            values = np.sum([_side_by_side(group) for group in groups], axis=0)
        if status is Status.RECOVERED and not np.isfinite(values).all():
            status, why = Status.PARTIAL, f"{why}, up to {int(np.isnan(values).sum())} sums of labels that lie between"
        ids = np.arange(seen.n_columns)
        return Guess(view.target, status, ids, values, evidence=evidence_of(groups), why=why)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(LinearUpdate.assess(facts), if_fails=Verdict.PARTIAL)


def status_of(groups: list[Products]) -> tuple[Status, str]:
    missing = [group for group in groups if not group.fit.determined]
    if missing:
        return Status.NOT_IDENTIFIABLE, missing[0].why
    for group in groups:
        if group.alpha is None:
            return Status.UNDETERMINED, group.why
        if group.needs_integers and not group.integral:
            why = (
                f"the estimate is {group.distance:.2g} from integers, standard error {group.fit.uncertainty:.2g}: "
                "it cannot be rounded safely"
            )
            return Status.PARTIAL, f"{why}; {group.why}" if group.why else why
        if not group.needs_integers and group.why:
            return Status.PARTIAL, group.why
    pairs = min(group.fit.n_pairs for group in groups)
    return Status.RECOVERED, f"{pairs} rounds determine every row of α and β"


def evidence_of(groups: list[Products]) -> dict[str, ScalarValue]:
    return {
        "groups of rows": len(groups),
        "rounds a group": min(group.fit.n_pairs for group in groups),
        "rank": min(group.fit.rank for group in groups),
        "rank needed": groups[0].fit.needed,
        "condition": max(group.fit.condition for group in groups),
        "standard error": max(group.fit.uncertainty for group in groups),
        "distance from integers": max((group.distance for group in groups), key=lambda x: -1.0 if x != x else x),
    }


def _side_by_side(group: Products) -> FloatArray:
    assert group.alpha is not None
    assert group.beta is not None
    alpha, beta = group.alpha, group.beta
    if group.integral:
        alpha = np.rint(alpha)
        beta = sure_parity(beta, alpha.diagonal().astype(np.int64))
    return np.column_stack([alpha, beta])
