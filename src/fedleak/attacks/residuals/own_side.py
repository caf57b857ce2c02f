"""What a coalition has by itself in the training of a linear model: its scores, its noise, its columns and gradients.

Beside them the public schedule (a round's rate and shrinkage) and the form in which residuals depend on scores.

Noise that members put on the scores they shared is known to them, and they take it off where it comes back. Where an
arbiter opens gradients, one residual serves all, so that a party's own noise is in its own gradient. Without an arbiter
a party uses its own exact scores, and finds only other members' noise. The victim trains with all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.steps import FEATURES, LABELS, NOISE, RecordName, Role
from fedleak.core.transcript import SETUP_ROUND
from fedleak.core.view import View
from fedleak.crypto import fixed_point
from fedleak.protocols.linear import vocabulary as linear

OWN_PART = frozenset({Capability.OWN_FEATURES, Capability.OWN_WEIGHTS, Capability.OWN_GRADIENT, Capability.BATCH_IDS})

OWN_TRAINING = frozenset(
    {
        Capability.OWN_FEATURES,
        Capability.OWN_WEIGHTS,
        Capability.OWN_GRADIENT,
        Capability.BATCH_IDS,
        Capability.TWO_CLASSES,
    }
)


class OwnScore:
    """The members' scores by round and row; labels as -1 or +1 where a member holds them."""

    def __init__(self, view: View, members: tuple[str, ...] | None = None) -> None:
        self._tables = []
        self._weights: list[dict[int, FloatArray]] = []
        for member in view.coalition if members is None else members:
            if any(True for _ in view.records(FEATURES, member)):
                self._tables.append(np.asarray(view.table(FEATURES, member).values, dtype=np.float64))
                self._weights.append(_weights_before(view, member))
                self.row_ids: IntArray = np.asarray(view.table(FEATURES, member).ids, dtype=np.int64)
        if not self._tables:
            raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no features")
        self._position = positions_of(self.row_ids)
        self.signs = _signs(view, self.row_ids)

    def positions(self, ids: IntArray) -> IntArray:
        return np.array([self._position[int(row)] for row in ids], dtype=np.int64)

    def scores(self, round_number: int, rows: IntArray) -> FloatArray:
        """Sum over the members of x . theta, with the weights that the round starts from."""
        parts = [
            table[rows] @ weights[round_number] for table, weights in zip(self._tables, self._weights, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    def largest(self, round_number: int) -> FloatArray:
        """|score| of every row, with the weights that the round starts from."""
        return np.asarray(np.abs(self.scores(round_number, np.arange(len(self.row_ids)))))

    def norms(self) -> FloatArray:
        """2-norms of the members' parts of the rows, put side by side."""
        return np.asarray(np.sqrt(np.sum([np.sum(table**2, axis=1) for table in self._tables], axis=0)))


def _weights_before(view: View, member: str) -> dict[int, FloatArray]:
    """A record of round t holds the weights after it, so round t + 1 starts from them; setup is round -1."""
    return {r.round + 1: r.value.values for r in view.records(linear.WEIGHTS, member) if isinstance(r.value, Array)}


def _signs(view: View, row_ids: IntArray) -> FloatArray | None:
    for member in view.coalition:
        if any(True for _ in view.records(LABELS, member)):
            table = view.table(LABELS, member)
            by_row = dict(zip(table.ids.tolist(), (2.0 * table.values[:, 0] - 1.0).tolist(), strict=True))
            return np.array([by_row[int(row)] for row in row_ids])
    return None


class OwnNoise:
    """What the members' noise adds to residuals. None where residuals are not linear in the scores."""

    def __init__(self, view: View) -> None:
        residual = view.facts.of(linear.LinearFacts).residual
        self._slope = 0.0 if residual is None else residual.slope
        self._members = view.coalition
        self._through_arbiter = any(party.role is Role.ARBITER for party in view.facts.parties)
        self._noise = {
            (member, record.round): np.asarray(record.value.values, dtype=np.float64)
            for member in view.coalition
            for record in view.records(NOISE, member)
            if isinstance(record.value, Array)
        }

    def on_scores(self, member: str, round_number: int) -> FloatArray | float:
        """What the member added to the scores it sent, a value a row of the batch."""
        return self._noise.get((member, round_number), 0.0)

    def in_gradient_of(self, member: str, round_number: int) -> FloatArray | float:
        """The part of the residual in a member's own gradient that is noise of the coalition's own."""
        return self._added((one for one in self._members if self._through_arbiter or one != member), round_number)

    def in_training(self, round_number: int) -> FloatArray | float:
        """The part of the residual with which parties outside the coalition train."""
        return self._added(self._members, round_number)

    def _added(self, members: Iterable[str], round_number: int) -> FloatArray | float:
        total: FloatArray | float = 0.0
        for member in members:
            total = total + self._slope * self.on_scores(member, round_number)
        return total


@dataclass(frozen=True, eq=False)
class OwnMember:
    """``pushes`` are a round's gradients as they came out of decryption; with ``encoded`` the l2 term is in them."""

    name: str
    ids: IntArray
    features: FloatArray
    labels: FloatArray | None
    weights: Mapping[int, FloatArray]  # after the round; SETUP_ROUND holds the first ones
    pushes: Mapping[int, FloatArray]
    encoded: bool
    fraction_bits: int | None

    def before(self, number: int) -> FloatArray:
        """The weights with which a round began."""
        return self.weights[number - 1] if number > 0 else self.weights[SETUP_ROUND]

    def scaled(self, rows: IntArray) -> FloatArray:
        """X / m as it entered the product."""
        return self._rounded(self.features[rows] / len(rows))

    def product(self, number: int, l2: float) -> FloatArray:
        """X^T d / m, without the l2 term."""
        if not self.encoded:
            return self.pushes[number]
        return self.pushes[number] - self._rounded(l2 * self.before(number))

    def share(self, rows: IntArray, number: int, form: linear.LinearResidual, noise: FloatArray | float) -> FloatArray:
        """The member's own part of the residual, with the noise that it added before it was encoded."""
        score = self.features[rows] @ self.before(number)
        if self.labels is not None:
            score = score - form.target(self.labels[rows])
        score = score + noise
        return self._rounded(form.slope * score)

    def _rounded(self, values: FloatArray) -> FloatArray:
        if not self.encoded or self.fraction_bits is None:
            return values
        encoded = fixed_point.encode(values, self.fraction_bits)
        return np.ldexp(encoded.astype(np.float64), -self.fraction_bits)


def own_members(view: View) -> list[OwnMember]:
    """The coalition's members that hold columns."""
    found = [member for name in view.coalition if (member := _own_member(view, name)) is not None]
    if not found:
        raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no features")
    return found


def _own_member(view: View, name: str) -> OwnMember | None:
    if not any(True for _ in view.records(FEATURES, name)):
        return None
    table = view.table(FEATURES, name)
    labels = None
    if any(True for _ in view.records(LABELS, name)):
        labels = np.asarray(view.table(LABELS, name).values[:, 0], dtype=np.float64)
    steps_sent = _arrays_by_round(view, linear.ARBITERS_STEP, name)
    pushes = {number: step / rate_of(view.facts, number) for number, step in steps_sent.items()}
    return OwnMember(
        name,
        np.asarray(table.ids, dtype=np.int64),
        np.asarray(table.values, dtype=np.float64),
        labels,
        _arrays_by_round(view, linear.WEIGHTS, name),
        pushes or _arrays_by_round(view, linear.OWN_GRADIENT, name),
        bool(pushes),
        view.facts.fraction_bits,
    )


def hold_steps(view: View) -> bool:
    """The coalition keeps what the arbiter opened for it: the sum that was computed, before the rate is divided out."""
    return any(True for _ in view.records(linear.ARBITERS_STEP))


def hold_labels(view: View) -> bool:
    return any(True for _ in view.records(LABELS))


def _arrays_by_round(view: View, record: RecordName, name: str) -> dict[int, FloatArray]:
    return {r.round: r.value.values for r in view.records(record, name) if isinstance(r.value, Array)}


def rate_of(facts: Facts, round_number: int) -> float:
    """The learning rate of a round; with decay it is divided by sqrt(1 + epoch)."""
    if facts.learning_rate is None:
        raise MissingFromViewError("the learning rate must be public; it is not among the facts")
    if not facts.of(linear.ArbiterFacts).decay:
        return facts.learning_rate
    if not facts.n_rows or not facts.batch_size:
        raise MissingFromViewError("with decay, the number of rows and the batch size must be public")
    return facts.learning_rate / sqrt(1 + round_number // -(-facts.n_rows // facts.batch_size))


def shrink_of(facts: Facts, round_number: int) -> float:
    """1 - rate l2: the factor on the weights in a step with L2 regularisation."""
    return 1.0 - rate_of(facts, round_number) * l2_of(facts)


def l2_of(facts: Facts) -> float:
    return facts.of(linear.ArbiterFacts).l2 or 0.0


def residual_of(facts: Facts) -> linear.LinearResidual:
    """Of a protocol whose residuals are linear in the scores."""
    found = facts.of(linear.LinearFacts).residual
    if found is None:
        raise MissingFromViewError(f"the public facts of {facts.protocol} must say how residuals follow from scores")
    return found
