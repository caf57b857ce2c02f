"""One batch after another: labels proved by linear programs first, the rest searched for and proved by search.

A budget counts work over all batches, by the sizes of the programs; what is known when it ends stays known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fedleak.attacks.residuals.label_program import (
    Ending,
    Labeling,
    LabelProgram,
    projections,
    prove_all,
    prove_row,
    proved_by,
    search,
    turned,
)
from fedleak.core.arrays import BoolArray, FloatArray, IntArray

NODES_OF_SEARCH = 100  # at most, for a batch's first labeling
NODES_OF_A_ROW = 20  # at most, to show that a row cannot be turned round
PROGRAM_OVERHEAD = 2000.0  # cells that take as long as a program's fixed part
MAX_SEARCH_CELLS = 20_000  # the root of a larger program's search has no bound that counts work
ROOT_WORK = 50.0  # linear programs that the root of a search takes as long as, with its heuristics
NODE_WORK = 5.0  # and one node of its tree
MAX_PASSES = 3  # over a batch's open rows: labels that are proved make others provable


class ContradictionError(ValueError):
    """No labeling fits a gradient: something is not as the facts say."""


@dataclass
class Budget:
    """Work of linear programs in cells of their matrices, shared out evenly over the batches that are left."""

    work: float
    programs: int = 0
    searches: int = 0
    _allowed: float = 0.0

    def open_batch(self, batches_left: int) -> None:
        self._allowed = self.work / max(batches_left, 1)

    def spend(self, program: LabelProgram, times: float = 1.0) -> None:
        cost = times * (PROGRAM_OVERHEAD + program.basis.shape[0] * program.relaxation.width)
        self.work -= cost
        self._allowed -= cost

    @property
    def left(self) -> bool:
        return self._allowed > 0


@dataclass(eq=False)
class LabelState:
    """What is known of all rows: -1 or +1, 0 where nothing is."""

    theta: FloatArray  # half the log odds before any bound
    proved: FloatArray = field(init=False)
    held: FloatArray = field(init=False)  # found, not proved
    ambiguous: BoolArray = field(init=False)
    by_linear: int = 0
    by_search: int = 0
    untrusted: int = 0
    unbounded: int = 0
    informative: bool = False

    def __post_init__(self) -> None:
        self.proved, self.held = np.zeros(len(self.theta)), np.zeros(len(self.theta))
        self.ambiguous = np.zeros(len(self.theta), dtype=bool)

    def best(self) -> FloatArray:
        """Proved, else found, else the likelier label."""
        found = np.where((self.held != 0) & ~self.ambiguous, self.held, _likelier(self.theta))
        return np.where(self.proved != 0, self.proved, found)


def solve_batch(state: LabelState, rows: IntArray, program: LabelProgram, budget: Budget, *, trusted: bool) -> None:
    """``trusted`` where the bounds follow from public facts: only then is a proof one, and a contradiction."""
    if np.all(program.high - program.low >= 1):  # every residual fits both labels
        state.unbounded += 1
        return
    known = state.proved[rows] if trusted else np.where(state.proved[rows] != 0, state.proved[rows], state.held[rows])
    state.informative = True
    state.untrusted += int(not trusted)
    if np.all(known != 0):
        return
    try:
        by_linear = _by_linear_programs(replace(program, known=known), state.theta[rows], budget)
        found, by_search, ambiguous = _by_search(by_linear, budget)
    except ContradictionError:
        if trusted:
            raise
        return
    if not trusted:
        state.held[rows] = np.where(state.held[rows] == 0, found, state.held[rows])
        return
    state.by_linear += int(np.sum(by_linear.open < (known == 0)))
    state.by_search += int(np.sum((by_search != 0) & by_linear.open))
    state.proved[rows] = by_search
    state.held[rows] = np.where(found != 0, found, state.held[rows])
    state.ambiguous[rows] |= ambiguous


def _by_linear_programs(program: LabelProgram, theta: FloatArray, budget: Budget) -> LabelProgram:
    """All rows at once where the likelier labels are separable; then row by row, the surest first."""
    signs = np.where(program.known != 0, program.known, _likelier(theta))
    shared = -program.basis.T @ theta
    program = _by_projections(program, signs, shared)
    # Rows of equal weight lose half their ranges on average: beyond 1, no weights prove all rows at once.
    if program.open.any() and float(np.sum(program.high - program.low)) / 2 < 1:
        budget.spend(program, times=4)
        budget.programs += 1
        program = _with_proofs(program, prove_all(program, signs)[None])
    for _ in range(MAX_PASSES):
        before = int(program.open.sum())
        for row in np.argsort(-np.abs(theta), kind="stable"):
            if program.known[row] == 0 and budget.left:
                budget.spend(program)
                budget.programs += 1
                weights = prove_row(program, int(row), signs[row])
                # None is the solver's word that nothing fits; the search has the last one.
                proved = program if weights is None else _with_proofs(program, weights[None])
                program = _by_projections(proved, signs, shared) if proved.open.sum() < program.open.sum() else proved
        if int(program.open.sum()) in (0, before):
            break
    return program


def _by_projections(program: LabelProgram, signs: FloatArray, shared: FloatArray) -> LabelProgram:
    """As long as they prove something: labels that are proved make others provable."""
    while program.open.any():
        proved = _with_proofs(program, projections(program, signs, shared))
        if proved.open.sum() == program.open.sum():
            break
        program = proved
    return program


def _likelier(theta: FloatArray) -> FloatArray:
    return np.where(theta > 0, 1.0, -1.0)


def _with_proofs(program: LabelProgram, weights: FloatArray) -> LabelProgram:
    known = proved_by(program, weights)
    if np.isnan(known).any():
        raise ContradictionError("no labels and no scores within their bounds give the own gradient")
    return replace(program, known=known)


def _by_search(program: LabelProgram, budget: Budget) -> tuple[FloatArray, FloatArray, BoolArray]:
    """(a labeling or zeros, what is proved, rows that two labelings have differently)."""
    ambiguous = np.zeros(len(program.known), dtype=bool)
    if not program.open.any():
        return program.known, program.known, ambiguous
    if program.basis.shape[0] * program.relaxation.width > MAX_SEARCH_CELLS:
        return program.known, program.known, ambiguous
    first = _searched(program, NODES_OF_SEARCH, budget)
    if first.ending is Ending.INFEASIBLE:
        raise ContradictionError("a search found no labels that give the own gradient")
    if first.signs is None:
        return program.known, program.known, ambiguous
    by_turning = False
    for row in np.flatnonzero(program.open):
        if ambiguous[row] or not budget.left:
            continue
        other = _searched(turned(program, int(row), first.signs[row]), NODES_OF_A_ROW, budget)
        if other.ending is Ending.INFEASIBLE:
            known = program.known.copy()
            known[row] = first.signs[row]
            program, by_turning = replace(program, known=known), True
        elif other.signs is not None:
            ambiguous |= program.open & (other.signs != first.signs)
    # A labeling that may be one of many is worth less than the likelier labels; one that resists turning is taken.
    alone = by_turning and not ambiguous.any()
    return first.signs if alone else program.known, program.known, ambiguous


def _searched(program: LabelProgram, n_nodes: int, budget: Budget) -> Labeling:
    found = search(program, n_nodes)
    budget.spend(program, times=ROOT_WORK + NODE_WORK * found.nodes)
    budget.searches += 1
    return found
