"""The linear system that a party's own gradient is, sum over the batch of r_i x_i = s * gradient, and its solution.

The unknowns are the residuals r_i (f_i / 4 of eq. 6 in Hu et al. 2022); the columns are the coalition's own features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.own_side import OwnNoise
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array
from fedleak.core.steps import FEATURES, LABELS, RecordName
from fedleak.core.view import View
from fedleak.crypto.fixed_point import encode
from fedleak.protocols.linear import vocabulary as linear

# Singular values below this share of the largest count as zero. Gradients carry about 40 fractional
# bits, so a direction weaker than this holds no usable digit.
RANK_TOLERANCE = 1e-9
DEFAULT_FRACTION_BITS = 40
FLOAT_UNIT = 2.0**-52
AGREEING = 1e-6  # equations that differ by less, as a share of their size, agree: those of another model would not
SHARP = 1e-3  # a residual, of size 1/2 at first, that rounding moves by more is not proved


@dataclass(frozen=True, eq=False)
class BatchSystem:
    """One round: row ids of the batch, the coalition's columns of those rows, its gradient."""

    round: int
    ids: IntArray
    rows: FloatArray  # (batch, columns)
    gradient: FloatArray  # (columns,)
    exact: bool = False  # the rows are as encoded, so that only the partners' shares are rounded
    n_independent: int | None = None  # columns of the whole table, copies and sums of others apart; None: all of them


@dataclass(frozen=True, eq=False)
class SolvedBatch:
    """Residuals, NaN where the system leaves them free."""

    round: int
    ids: IntArray
    residuals: FloatArray
    rank: int
    condition: float  # of the part of the system that has full rank
    error: float = 0.0  # about how far fixed-point rounding can move a residual
    n_spare: int = 0  # equations beyond one a row, those apart that hold for whatever rows and residuals
    misfit: float = float("inf")  # what the solution leaves of the equations, as a share of them

    @property
    def is_proved(self) -> bool:
        """One solution, of more equations than unknowns, and they agree: that is no coincidence. As many equations as
        unknowns have a solution whatever they are about."""
        return (
            bool(np.isfinite(self.residuals).all())
            and self.n_spare > 0
            and self.misfit <= AGREEING
            and self.error <= SHARP
        )


def proof_of(batches: Sequence[SolvedBatch]) -> str:
    """What in the view shows that these residuals are right; empty where a single batch is not overdetermined."""
    if not batches or not all(batch.is_proved for batch in batches):
        return ""
    spare = min(batch.n_spare for batch in batches)
    misfit = max(batch.misfit for batch in batches)
    return (
        f"the gradients of {len(batches)} rounds have one solution each for the residuals, with {spare} or more "
        f"equations to spare, which agree to {misfit:.1g}"
    )


def batch_systems(view: View) -> Iterator[BatchSystem]:
    """Read the systems from the view, in the order of the rounds; a coalition's columns are put side by side."""
    noise = OwnNoise(view)
    members = [_Member(view, name, noise) for name in view.coalition if has_record(view, FEATURES, name)]
    if not members:
        raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no features")
    rounds = set.intersection(*(set(member.gradients) for member in members))
    exact, n_independent = all(member.is_exact for member in members), _n_independent(members)
    for message in view.at(linear.BATCH):
        if message.round in rounds and isinstance(message.payload, Array):
            rounds.remove(message.round)  # who sends the batch to each partner says nothing new the second time
            ids = np.asarray(message.payload.values, dtype=np.int64)
            rows = np.hstack([member.rows(ids) for member in members])
            gradient = np.concatenate([member.gradient(message.round, ids) for member in members])
            yield BatchSystem(message.round, ids, rows, gradient, exact, n_independent)


MAX_RANK_ROWS = 10_000  # rows, evenly spaced, that show how many columns are independent; fewer prove less, not more


def _n_independent(members: Sequence[_Member]) -> int:
    """A column that is a copy or a sum of others has the copy or the sum of their gradients, whatever the rows were:
    its equation agrees with the others even where the batch is not the one that was used."""
    shared = sorted(set.intersection(*(member.ids for member in members)))
    chosen = np.array(shared[:: -(-len(shared) // MAX_RANK_ROWS) or 1], dtype=np.int64)
    table = np.hstack([member.rows(chosen) for member in members])
    return _rank(np.asarray(np.linalg.svd(table, compute_uv=False), dtype=np.float64))


def _rank(singular: FloatArray) -> int:
    return int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) else 0


class _Member:
    """One member's columns and gradients.

    In the encrypted exchange the partners' part of a gradient is an exact sum over the features as they are encoded,
    and the own part one over the features themselves. A member that knows its weights moves its own part over to the
    encoded features too: rounding of features then no longer blurs the system. A gradient that was opened from shares
    is a sum over encoded features in all its parts.
    """

    def __init__(self, view: View, name: str, noise: OwnNoise) -> None:
        self._name, self._noise = name, noise
        table = view.table(FEATURES, name)
        self._features = np.asarray(table.values, dtype=np.float64)
        self._position = positions_of(table.ids)
        self.ids = set(self._position)
        # A member that claimed more columns than it trains on kept the whole gradient under a name of its own.
        kept = linear.CLAIMED_GRADIENT if has_record(view, linear.CLAIMED_GRADIENT, name) else linear.OWN_GRADIENT
        self.gradients = {r.round: r.value.values for r in view.records(kept, name) if isinstance(r.value, Array)}
        self._weights = {
            r.round + 1: r.value.values for r in view.records(linear.WEIGHTS, name) if isinstance(r.value, Array)
        }
        self._labels = view.table(LABELS, name).values[:, 0] if has_record(view, LABELS, name) else None
        facts = view.facts
        source = facts.of(linear.VerticalLogisticFacts).gradients
        self._moves_own_part = (
            source == "encrypted-exchange"
            and facts.approximation == "taylor"
            and set(self.gradients) <= set(self._weights)
        )
        self._fraction_bits = facts.fraction_bits
        self.is_exact = facts.fraction_bits is not None and (self._moves_own_part or source == "opened-shares")

    def rows(self, ids: IntArray) -> FloatArray:
        return self._encoded(self._features[self._at(ids)])

    def _encoded(self, rows: FloatArray) -> FloatArray:
        """A batch at a time, beside a table that may fill the memory."""
        if not self.is_exact or self._fraction_bits is None:
            return rows
        return np.asarray(np.ldexp(encode(rows, self._fraction_bits).astype(float), -self._fraction_bits))

    def gradient(self, round_number: int, ids: IntArray) -> FloatArray:
        at = self._at(ids)
        features = self._features[at]
        encoded = self._encoded(features)
        gradient: FloatArray = np.array(self.gradients[round_number], dtype=np.float64)
        own_noise = np.broadcast_to(self._noise.in_gradient_of(self._name, round_number), len(ids))
        gradient -= encoded.T @ own_noise / len(ids)
        if not self.is_exact or not self._moves_own_part:
            return gradient
        own = features @ self._weights[round_number]
        if self._labels is not None:
            own = own - 2.0 * (2.0 * self._labels[at] - 1.0)
        # 4 s G = X'own + Xe'others (line 12 of protocol 1): add (Xe - X)'own to have Xe'f on the right.
        moved: FloatArray = gradient + (encoded - features).T @ own / (4 * len(ids))
        return moved

    def _at(self, ids: IntArray) -> list[int]:
        return [self._position[int(row)] for row in ids]


def solve(system: BatchSystem, fraction_bits: int | None = None) -> SolvedBatch:
    """Least squares, row by row honest: a residual that a null direction touches stays unknown."""
    n_rows = len(system.ids)
    left, singular, right = np.linalg.svd(system.rows.T, full_matrices=True)
    rank = _rank(singular)
    target = left[:, :rank].T @ (n_rows * system.gradient)
    residuals = right[:rank].T @ (target / singular[:rank])
    free = np.linalg.norm(right[rank:], axis=0) > 1e-6  # rows of the null space
    residuals[free] = np.nan
    condition = float(singular[0] / singular[rank - 1]) if rank else float("inf")
    error = _rounding_error(system, float(singular[rank - 1]), fraction_bits) if rank else float("inf")
    n_equations = system.rows.shape[1] if system.n_independent is None else system.n_independent
    n_spare = max(0, n_equations - n_rows) if rank == n_rows else 0
    return SolvedBatch(system.round, system.ids, residuals, rank, condition, error, n_spare, _misfit(system, residuals))


def _misfit(system: BatchSystem, residuals: FloatArray) -> float:
    right_side = len(system.ids) * system.gradient
    size = float(np.linalg.norm(right_side))
    if size == 0 or not np.isfinite(residuals).all():
        return float("inf")
    return float(np.linalg.norm(system.rows.T @ residuals - right_side)) / size


def _rounding_error(system: BatchSystem, smallest: float, fraction_bits: int | None) -> float:
    """Each equation is off by about sqrt(s) units, which the smallest singular value amplifies: units of the encoding
    where features are rounded, of float64 where they are not; then the shares' own rounding is added."""
    spread = float(np.sqrt(len(system.ids))) / smallest
    unit = 2.0 ** -(DEFAULT_FRACTION_BITS if fraction_bits is None else fraction_bits)
    return unit + FLOAT_UNIT * spread if system.exact else unit * spread


def has_record(view: View, record: RecordName, member: str) -> bool:
    return any(True for _ in view.records(record, member))
