"""Whole records with binary columns, from the inner products that updates give away (Li et al. 2019, section 3.2).

The paper solves XᵀX = α by integer programming; here it is a lattice problem, solved exactly and with a certificate of
uniqueness. Labels follow from β; columns that are not binary are solved for, or bounded, from the binary ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.binary.binary_table import BinaryTables, Outcome, binary_tables
from fedleak.attacks.binary.column_products import evidence_of, status_of, unlike_sums
from fedleak.attacks.binary.completed_rows import (
    binary_columns,
    bounds_from_binary,
    certain_cells,
    has_parity,
    labels_of_rows,
    sure_parity,
)
from fedleak.attacks.binary.nearest_products import nearest_products
from fedleak.attacks.binary.observations import observations
from fedleak.attacks.binary.observed_products import EXACT_TO, ROUNDS_SAFELY, TRUSTED_ERROR, Products, observed_products
from fedleak.attacks.binary.own_coding import Coding, decoded, own_coding
from fedleak.attacks.binary.table_search import Budget
from fedleak.attacks.binary.whole_number_table import whole_number_table
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.binary_uniqueness import BinaryUniqueness

ENOUGH_COLUMNS = 3  # with fewer a lattice of index 1 and labels that fit are a coincidence


@dataclass(frozen=True, eq=False)
class _Solved:
    """Rows of one group (features and label, NaN where open), the equally good tables, and how it went."""

    rows: FloatArray
    half_widths: FloatArray
    candidates: tuple[FloatArray, ...]
    status: Status
    why: str
    method: str
    certificate: str = ""


class BinaryRecords(Attack):
    name = "binary-records"
    summary = "recovers binary records and their labels from the inner products of their columns"
    reference = Reference("li2019", "section 3.2")
    requires = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS})
    preloads = ("flint", "scipy.linalg", "scipy.optimize")
    produces = SecretKind.RECORDS
    up_to = frozenset({Symmetry.ROW_ORDER})

    nodes: int = Budget.nodes  # of the searches, shared by the groups of rows

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        seen = observations(view)
        groups = observed_products(seen, rng)
        evidence = evidence_of(groups)
        if any(group.alpha is None for group in groups):
            status, why = status_of(groups)
            if status is Status.PARTIAL:  # of the products: of single records they leave all open
                status = Status.UNDETERMINED
            return _silent(view, seen.n_rows, seen.n_columns + 1, status, why, evidence)
        coding = own_coding(view, seen.n_columns)
        solved = [solve_group(group, coding, Budget(self.nodes // len(groups))) for group in groups]
        found = _combined(view, solved, evidence)
        unlike = unlike_sums(groups, seen)
        if found.status is not Status.RECOVERED or not unlike:
            return found
        return replace(found, status=Status.PARTIAL, why=unlike, certificate="")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(BinaryUniqueness.assess(facts), if_fails=Verdict.UNKNOWN)


def solve_group(group: Products, coding: Coding, budget: Budget) -> _Solved:
    assert group.alpha is not None
    assert group.beta is not None
    shape = (group.n_rows, len(group.alpha) + 1)
    tolerance = EXACT_TO + 4 * group.fit.uncertainty if not group.needs_integers else ROUNDS_SAFELY
    if group.fit.uncertainty > TRUSTED_ERROR or (group.needs_integers and not group.integral):
        return _of_nearest(group, coding, budget) or _nothing(shape, Status.UNDETERMINED, _uncertain(group))
    if coding.whole.any() and not group.needs_integers:
        solved = _of_whole_numbers(group, coding, tolerance, budget)
        if solved is not None:
            return solved
    seen, told = group, decoded(group, coding)
    group, among = told.products, told.columns
    assert group.alpha is not None
    assert group.beta is not None
    if not group.needs_integers:
        tolerance = EXACT_TO + 4 * told.error
        among = among & (has_parity(group.beta, group.alpha, tolerance) | np.isnan(group.beta))
    columns = binary_columns(group.alpha, group.n_rows, min(tolerance, ROUNDS_SAFELY), among)
    if not len(columns):
        return _nothing(shape, Status.NOT_IDENTIFIABLE, _no_binary_column(group, coding))
    gram = np.rint(group.alpha[np.ix_(columns, columns)]).astype(np.int64)
    found = binary_tables(gram, group.n_rows, budget)
    why = f"{len(columns)} of {len(group.alpha)} columns are binary; {found.why}"
    if not found.tables:
        # That no 0/1 table has them says that the columns are no such ones, not what else they tell.
        return _nothing(shape, Status.UNDETERMINED, why, found.method)
    return _filled(seen, group, columns, found, why, coding)


def _of_nearest(group: Products, coding: Coding, budget: Budget) -> _Solved | None:
    """A table that noise leaves likely: given, and not promised."""
    assert group.alpha is not None
    assert group.beta is not None
    if not coding.possible.all():
        return None
    counts = nearest_products(group.alpha, group.n_rows, group.fit.uncertainty)
    found = None if counts is None else binary_tables(counts, group.n_rows, budget)
    if counts is None or found is None or found.outcome is not Outcome.UNIQUE:
        return None
    near = replace(group, alpha=counts.astype(np.float64))
    rows, half_widths, _ = _whole_rows(near, near, np.arange(len(counts)), found.tables[0], coding)
    why = f"{_uncertain(group)} one by one; the nearest that a table has are of this one, which noise leaves likely"
    return _Solved(rows, half_widths, (), Status.PARTIAL, why, found.method)


def _of_whole_numbers(group: Products, coding: Coding, tolerance: float, budget: Budget) -> _Solved | None:
    """Columns of whole numbers from 0 on, by the lattice that they generate; None where it does not name a table."""
    assert group.alpha is not None
    assert group.beta is not None
    columns = np.flatnonzero(coding.whole | coding.possible)
    part = group.alpha[np.ix_(columns, columns)]
    if float(np.abs(part - np.rint(part)).max()) > min(tolerance, ROUNDS_SAFELY):
        return None
    found = whole_number_table(np.rint(part).astype(np.int64), group.n_rows, budget)
    why = f"{len(columns)} of {len(group.alpha)} columns hold whole numbers; {found.why}"
    return _filled(group, group, columns, found, why, coding) if found.outcome is Outcome.UNIQUE else None


def _filled(
    seen: Products, group: Products, columns: IntArray, found: BinaryTables, why: str, coding: Coding
) -> _Solved:
    """Put binary cells, labels and the bounded other columns into the table's shape, for every solution. ``seen`` are
    the products as columns are written, ``group`` those of zeros and ones."""
    tables = [_whole_rows(seen, group, columns, table, coding) for table in found.tables]
    rows, half_widths, determined = tables[0]
    candidates = tuple(table for table, _, _ in tables) if len(tables) > 1 else ()
    if found.outcome is not Outcome.UNIQUE:
        rows = np.where(certain_cells([table for table, _, _ in tables]), rows, np.nan)
        if candidates:
            why = f"{why}; cells are kept that agree in the {len(tables)} found, others may fit as well"
        return _Solved(rows, half_widths, candidates, Status.UNDETERMINED, why, found.method)
    missing = _missing(rows, determined, _corroborated(rows, columns, found, coding))
    status = Status.PARTIAL if missing else Status.RECOVERED
    proof = "" if missing or half_widths.any() else _proof(group, found)
    return _Solved(rows, half_widths, (), status, f"{why}{missing}", found.method, proof)


def _proof(group: Products, found: BinaryTables) -> str:
    """Inner products that were solved for, not extrapolated, from more rounds than it takes, and that came out whole;
    and a table that is the only one with them."""
    fit = group.fit
    precise = max(group.distance, fit.uncertainty) <= EXACT_TO
    if group.needs_integers or group.why or fit.n_pairs <= fit.needed or not precise:
        return ""
    return (
        f"{fit.n_pairs} rounds, where {fit.needed} would do, give inner products within {group.distance:.1g} of whole "
        f"numbers; {found.why}"
    )


def _missing(rows: FloatArray, determined: bool, corroborated: bool) -> str:
    """What keeps the only binary table from being the victim's for certain; empty where nothing does."""
    if not corroborated:
        return "; that these columns hold zeros and ones is not shown by anything else"
    if not np.isfinite(rows[:, -1]).all():
        return "; some labels stay open"
    return "" if determined else "; cells of other columns are only bounded"


def _corroborated(rows: FloatArray, columns: IntArray, found: BinaryTables, coding: Coding) -> bool:
    """That columns are 0/1 shows in the coalition's own rows. Without any, in the lattice: other codes give one of
    index above 1, and sums over labels that no labels have."""
    if coding.shown[columns].all():
        return True
    by_labels = bool(np.isfinite(rows[:, -1]).all())
    return found.index_squared == 1 and by_labels and len(columns) >= ENOUGH_COLUMNS


def _whole_rows(
    seen: Products, group: Products, columns: IntArray, table: IntArray, coding: Coding
) -> tuple[FloatArray, FloatArray, bool]:
    """The rows, how far each cell may be off, and whether that is next to nothing."""
    assert seen.alpha is not None
    assert seen.beta is not None
    assert group.beta is not None
    n_columns = len(seen.alpha)
    rows = np.full((len(table), n_columns + 1), np.nan)
    half_widths = np.zeros(rows.shape)
    written = coding.low[columns] + (coding.high - coding.low)[columns] * table
    rows[:, columns] = written
    if coding.coded[columns].any():
        rows[:, -1] = labels_of_rows(written, seen.beta[columns], EXACT_TO + 4 * seen.fit.uncertainty)
    else:
        rows[:, -1] = labels_of_rows(table, sure_parity(group.beta[columns], table.sum(axis=0)))
    others = np.setdiff1d(np.arange(n_columns), columns)
    if not len(others):
        return rows, half_widths, True
    products, squares = seen.alpha[np.ix_(columns, others)], seen.alpha[others, others]
    bounds = bounds_from_binary(written, products, squares, seen.fit.uncertainty)
    half_widths[:, others] = bounds.radius
    rows[:, others] = bounds.middle
    return rows, half_widths, bounds.determined


def _uncertain(group: Products) -> str:
    why = (
        f"the inner products are {group.distance:.2g} from integers, with a standard error of "
        f"{group.fit.uncertainty:.2g}: they cannot be rounded safely"
    )
    return f"{why}; {group.why}" if group.why else why


def _no_binary_column(group: Products, coding: Coding) -> str:
    assert group.alpha is not None
    if not coding.possible.any():
        return "no column is binary: the coalition's own rows hold other values than 0 and 1 in every one"
    smallest = float(np.linalg.eigvalsh(group.alpha)[0])
    if smallest < -1e-3 * max(1.0, float(np.abs(group.alpha).max())):
        return f"α is not positive semidefinite (smallest eigenvalue {smallest:.3g}): it is no table's"
    return (
        f"no column is binary: α is up to {group.distance:.2g} from integers, its counts contradict each other, or no "
        "labels give its sums"
    )


def _nothing(shape: tuple[int, int], status: Status, why: str, method: str = "none") -> _Solved:
    return _Solved(np.full(shape, np.nan), np.full(shape, np.nan), (), status, why, method)


def _silent(view: View, n_rows: int, width: int, status: Status, why: str, evidence: dict[str, ScalarValue]) -> Guess:
    return Guess(view.target, status, np.arange(n_rows), np.full((n_rows, width), np.nan), evidence=evidence, why=why)


def _combined(view: View, solved: list[_Solved], evidence: dict[str, ScalarValue]) -> Guess:
    """All groups' rows in one table; candidates only where there is one group, so that they stay few."""
    rows = np.vstack([part.rows for part in solved])
    half_widths = np.vstack([part.half_widths for part in solved])
    intervals = np.stack([rows - half_widths, rows + half_widths], axis=2)
    statuses = {part.status for part in solved}
    status = statuses.pop() if len(statuses) == 1 else Status.PARTIAL
    worst = min(solved, key=lambda part: part.status is Status.RECOVERED)
    return Guess(
        view.target,
        status,
        np.arange(len(rows)),
        rows,
        intervals=intervals,
        candidates=solved[0].candidates if len(solved) == 1 else (),
        evidence={
            **evidence,
            "groups recovered": sum(part.status is Status.RECOVERED for part in solved),
            "method": ", ".join(dict.fromkeys(part.method for part in solved)),
        },
        why=worst.why,
        certificate=worst.certificate if all(part.certificate for part in solved) else "",
    )
