"""Inner products of the others' columns from the sum of updates (Li et al. 2019, sections 3.2 to 3.4).

α = XᵀX and β = XᵀY over all rows outside the coalition: from one affine map where a batch recurs or all rows are one
batch, from a product of local steps, or extrapolated where the rate decays.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.binary.completed_rows import sure_parity
from fedleak.attacks.binary.observations import Observations, observations
from fedleak.attacks.binary.observed_products import Products, observed_products
from fedleak.attacks.verdicts import from_assessment, in_part
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.condition import State
from fedleak.theory.horizontal_rounds import LinearUpdate, undisturbed


class ColumnProducts(Attack):
    """α = XᵀX and β = XᵀY over all rows outside the coalition, whosever they are."""

    name = "column-products"
    summary = "solves the others' updates for the inner products of their columns, and with their labels"
    reference = Reference("li2019", "sections 3.2 to 3.4")
    requires = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS})
    preloads = ("scipy.linalg", "scipy.optimize")
    produces = SecretKind.COLUMN_PRODUCTS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return products_guess(view, observations(view), rng)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(LinearUpdate.assess(facts), if_fails=Verdict.UNKNOWN)


def products_guess(view: View, seen: Observations, rng: np.random.Generator) -> Guess:
    """What updates at known models say of α and β of the rows behind them."""
    groups = observed_products(seen, rng)
    status, why = status_of(groups)
    values = np.full((seen.n_columns, seen.n_columns + 1), np.nan)
    told = [cells for group in groups if (cells := _side_by_side(group)) is not None]
    if len(told) == len(groups):
        values = np.sum(told, axis=0) * seen.n_rows / sum(group.n_rows for group in groups)
    if status is Status.RECOVERED and not np.isfinite(values).all():
        status, why = Status.PARTIAL, f"{why}, up to {int(np.isnan(values).sum())} sums of labels that lie between"
    if status is Status.RECOVERED and (unlike := unlike_sums(groups, seen)):
        status, why = Status.PARTIAL, unlike
    if any(group.in_part is not None for group in groups):
        why = f"{why}; {in_part(sum(g.fit.rank for g in groups), sum(g.fit.needed for g in groups))}"
    certificate = _proof(groups, view.facts) if status is Status.RECOVERED else ""
    ids = np.arange(seen.n_columns)
    return Guess(view.target, status, ids, values, evidence=evidence_of(groups), why=why, certificate=certificate)


def status_of(groups: list[Products]) -> tuple[Status, str]:
    missing = [group for group in groups if not group.fit.determined]
    if missing:
        known = any(group.fit.rank for group in groups)
        return Status.PARTIAL if known else Status.NOT_IDENTIFIABLE, missing[0].why
    for group in groups:
        if group.alpha is None:
            return Status.UNDETERMINED, group.why
        if group.needs_integers and not group.integral:
            error = f"standard error {group.fit.uncertainty:.2g}: it cannot be rounded safely"
            why = f"the estimate is {group.distance:.2g} from integers, {error}"
            return Status.PARTIAL, f"{why}; {group.why}" if group.why else why
        if not group.needs_integers and group.why:
            return Status.PARTIAL, group.why
        if not group.precise:
            return Status.PARTIAL, f"the inner products are known to within {4 * group.fit.uncertainty:.2g} alone"
    pairs = min(group.fit.n_pairs for group in groups)
    return Status.RECOVERED, f"{pairs} rounds determine every row of α and β"


def _proof(groups: list[Products], facts: Facts) -> str:
    """More rounds than unknowns, one symmetric map, and whole numbers that nothing asked for: few columns have so few
    orders that luck cannot be told from knowledge otherwise. Noise that nobody declared would leave no whole numbers,
    but what is declared is read first."""
    spare = min(group.fit.n_pairs - group.fit.needed for group in groups)
    whole = all(group.integral and not group.needs_integers for group in groups)
    if spare < 1 or not whole or undisturbed(facts).state is not State.HOLDS:
        return ""
    return f"{spare} rounds more than unknowns agree on one symmetric table, and all its entries are whole numbers"


def unlike_sums(groups: list[Products], seen: Observations) -> str:
    """Why sums are not of the same rows. Who has fewer batches than others is in several groups with the same rows; how
    much of a sum is whose is open. An entry that one of several parties left out does not show in their sum."""
    if seen.withheld and len(seen.outsiders) > 1:
        return "of several parties outside each sends some entries alone: which rows an entry is a sum of stays open"
    if sum(group.n_rows for group in groups) == seen.n_rows:
        return ""
    batches = " and ".join(str(len(outsider.batch_sizes)) for outsider in seen.outsiders)
    return f"parties outside have {batches} batches that take turns: the same rows are in several of the sums"


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


def _side_by_side(group: Products) -> FloatArray | None:
    alpha, beta = group.alpha, group.beta
    if alpha is None or beta is None:
        return group.in_part
    if group.integral:
        alpha = np.rint(alpha)
        beta = sure_parity(beta, alpha.diagonal().astype(np.int64))
    return np.column_stack([alpha, beta])
