"""What a coalition sees of the others' updates in horizontal training: their sum at known models.

Columns that are equal in all of the others' rows show: their entries of every update are equal. Where they are equal in
the curious party's rows too, the model never tells them apart, and inner products with each of them alone are not
determined. Taken as one column, with the sum of their weights, they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array, Scalar, Tree
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.protocols.averaging import vocabulary as averaging

OUR_SLOPE, OUR_TARGET = 0.25, 0.5  # of the quadratic loss log 2 - yθx/2 + (θx)²/8 (section 3.1)


@dataclass(frozen=True, eq=False)
class Outsider:
    """A party outside the coalition: its rows, the sizes of its batches, whether it deals them anew every round."""

    name: str
    n_rows: int
    batch_sizes: tuple[int, ...]
    shuffled: bool


@dataclass(frozen=True, eq=False)
class Observations:
    """A row a round: the model θ, the others' summed update Δ, and the learning rate."""

    models: FloatArray
    updates: FloatArray
    rates: FloatArray
    rounds: IntArray
    outsiders: tuple[Outsider, ...]
    noise: float  # of one entry of an update: what rounding to fixed point leaves
    local_steps: bool  # an update is a pass over all of a party's batches
    withheld: bool  # parties share only some entries of their updates: an exact zero may mean "not shared"
    added: float = 0.0  # of one entry: the noise that the others declare

    def errors(self, unit: float) -> tuple[float, float]:
        """Of one entry that is divided by ``unit``: by rounding, and by declared noise."""
        return self.noise / unit, self.added / unit

    @property
    def n_columns(self) -> int:
        return int(self.models.shape[1])

    @property
    def n_rows(self) -> int:
        return sum(outsider.n_rows for outsider in self.outsiders)

    def shared(self) -> BoolArray:
        """Which entries of the updates were sent at all."""
        return self.updates != 0 if self.withheld else np.ones(self.updates.shape, dtype=np.bool_)

    def of_rounds(self, chosen: BoolArray) -> Observations:
        return Observations(
            self.models[chosen],
            self.updates[chosen],
            self.rates[chosen],
            self.rounds[chosen],
            self.outsiders,
            self.noise,
            self.local_steps,
            self.withheld,
            self.added,
        )


def observations(view: View) -> Observations:
    """Δ of the others = (number of senders) · mean update − own updates (section 3.1, and 3.4 for several parties)."""
    outside = outside_parties(view)
    whole = [one for one in summed_rounds(view) if one.senders == outside]  # else the sum is over fewer rows
    if not whole:
        raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no aggregated update")
    return _observed(view, whole, _outsiders(view))


def observations_of(view: View, victim: str, updates: Mapping[int, FloatArray]) -> Observations:
    """Of one party whose updates are known by themselves, by round."""
    alone = [replace(one, update=updates[one.number]) for one in summed_rounds(view) if one.number in updates]
    return _observed(view, alone, tuple(outsider for outsider in _outsiders(view) if outsider.name == victim))


def sent_updates(view: View, sender: str) -> dict[int, FloatArray]:
    """By round, what a party's own step is of the sum of all, from weights that it sent in plaintext."""
    everybody = frozenset(party.name for party in view.facts.with_role(Role.ACTIVE))
    sent = {message.round: message.payload for message in view.at(averaging.SENT_WEIGHTS) if message.sender == sender}
    units, senders = Units.of(view), _senders(view)
    found = {}
    for number, model in models_before(view):
        if number in sent:
            part = units.weight(sender, senders.get(number, everybody))
            found[number] = _cleaned(part * (model - _array(sent[number])), view.facts.fraction_bits)
    return found


def models_before(view: View) -> Iterator[tuple[int, FloatArray]]:
    """Of each round the model that it starts from."""
    model = _first_model(view)
    for message in view.at(averaging.AGGREGATE):
        yield message.round, model
        model = model - _array(message.payload)


def _observed(view: View, rounds: Sequence[SummedRound], outsiders: tuple[Outsider, ...]) -> Observations:
    facts = view.facts
    own_facts = facts.of(averaging.HorizontalLogisticFacts)
    stacked = np.array([one.update for one in rounds])
    return Observations(
        np.array([one.model for one in rounds]),
        stacked,
        np.array([one.rate for one in rounds]),
        np.array([one.number for one in rounds], dtype=np.int64),
        outsiders,
        _noise(stacked, facts.fraction_bits),
        own_facts.update == averaging.ASYNCHRONISED,
        own_facts.shared_fraction is not None,
        (own_facts.update_noise or 0.0) * len(outsiders) ** 0.5,
    )


@dataclass(frozen=True, eq=False)
class SummedRound:
    """The update of those outside that sent in a round, at a known model."""

    number: int
    model: FloatArray
    update: FloatArray
    rate: float
    senders: frozenset[str]


def outside_parties(view: View) -> frozenset[str]:
    return frozenset(party.name for party in view.facts.with_role(Role.ACTIVE) if party.name not in view.coalition)


@dataclass(frozen=True)
class Units:
    """How a federation's own models, rates and parts of the mean become those of Δ = λ(αθ/4 − β/2): a row's gradient is
    slope · θx − target · y, and where losses are averaged a party weighs as much as its rows."""

    slope: float
    target: float
    n_rows: Mapping[str, int] | None  # of each party, where they weigh it

    @classmethod
    def of(cls, view: View) -> Units:
        own = view.facts.of(averaging.HorizontalLogisticFacts)
        slope = OUR_SLOPE if own.slope is None else own.slope
        return cls(
            slope, OUR_TARGET if own.target is None else own.target, _counts(view) if own.averaged_loss else None
        )

    def model(self, weights: FloatArray) -> FloatArray:
        return weights * (2 * self.slope / self.target)

    def rate(self, rate: float, there: frozenset[str]) -> float:
        own = 2 * self.target * rate
        return own if self.n_rows is None else own * len(there) / sum(self.n_rows[name] for name in there)

    def weight(self, name: str, there: frozenset[str]) -> float:
        if self.n_rows is None:
            return 1.0
        return len(there) * self.n_rows[name] / sum(self.n_rows[one] for one in there)


def summed_rounds(view: View) -> Iterator[SummedRound]:
    """All rounds, those in which somebody was lost too."""
    facts, outside, units = view.facts, outside_parties(view), Units.of(view)
    everybody = frozenset(party.name for party in facts.with_role(Role.ACTIVE))
    own = {name: _updates(view, name) for name in sorted(everybody - outside)}
    decay = facts.of(averaging.HorizontalLogisticFacts).rate_decay or 0.0
    rate = facts.learning_rate if facts.learning_rate is not None else 1.0
    senders = _senders(view)
    for (_, model), message in zip(models_before(view), view.at(averaging.AGGREGATE), strict=True):
        mean = _array(message.payload)
        there = senders.get(message.round, everybody)
        parts = (units.weight(name, there) * own[name][message.round] for name in own if name in there)
        mine = sum(parts, np.zeros_like(mean))
        update = _cleaned(len(there) * mean - mine, facts.fraction_bits)
        now = units.rate(rate / (1 + decay * message.round), there)
        yield SummedRound(message.round, units.model(model), update, now, there & outside)


def _cleaned(updates: FloatArray, fraction_bits: int | None) -> FloatArray:
    """Updates are whole multiples of 2^-fraction_bits: what a mean and a difference of floats added goes away."""
    if fraction_bits is None:
        return updates
    return np.ldexp(np.rint(np.ldexp(updates, fraction_bits)), -fraction_bits)


def _noise(updates: FloatArray, fraction_bits: int | None) -> float:
    in_floats = 4e-16 * float(np.abs(updates).max(initial=0.0))
    return max(2.0**-fraction_bits if fraction_bits is not None else 0.0, in_floats)


def _outsiders(view: View) -> tuple[Outsider, ...]:
    facts = view.facts
    again = facts.of(averaging.HorizontalFacts).shuffled or ()
    found = []
    for name, n_rows in _counts(view).items():
        if name not in view.coalition:
            size = min(facts.batch_size or n_rows, n_rows)
            sizes = tuple(min(size, n_rows - start) for start in range(0, n_rows, size))
            found.append(Outsider(name, n_rows, sizes, name in again))
    if not found:
        raise MissingFromViewError(f"the view of {', '.join(view.coalition)} has nobody's number of rows")
    return tuple(found)


def _counts(view: View) -> dict[str, int]:
    """Of every party the number of its rows, as it said."""
    told = ((m.sender, m.payload) for m in view.at(averaging.ROW_COUNT))
    return {name: int(payload.value or 0) for name, payload in told if isinstance(payload, Scalar)}


def _senders(view: View) -> dict[int, frozenset[str]]:
    """Whose updates are in the mean of a round, where some may have been lost; a lying server's lists add up to it."""
    found: dict[int, frozenset[str]] = {}
    for message in view.at(averaging.SENDERS):
        if isinstance(message.payload, Tree):
            found[message.round] = found.get(message.round, frozenset()) | frozenset(message.payload.items)
    return found


def _first_model(view: View) -> FloatArray:
    for message in view.at(averaging.FIRST_MODEL):
        return _array(message.payload)
    raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no first model")


def _updates(view: View, member: str) -> dict[int, FloatArray]:
    return {record.round: _array(record.value) for record in view.records(averaging.OWN_UPDATE, member)}


def _array(payload: object) -> FloatArray:
    if not isinstance(payload, Array):
        raise MissingFromViewError(f"an update must be an array; got {type(payload).__name__}")
    return np.asarray(payload.values, dtype=np.float64)


SAME_WITHIN = 4.0  # times the rounding of an update


def kinds_of_columns(seen: Observations) -> IntArray:
    """For each column the number of its kind; columns with equal updates in all rounds are of one kind."""
    if seen.withheld:
        return np.arange(seen.n_columns)  # a zero may mean "not sent": nothing can be compared
    kinds = np.zeros(seen.n_columns, dtype=np.int64)
    firsts: list[int] = []
    for column in range(seen.n_columns):
        apart = np.abs(seen.updates[:, firsts] - seen.updates[:, [column]]).max(axis=0, initial=0.0)
        same = np.flatnonzero(apart <= SAME_WITHIN * seen.noise)
        if len(same) and firsts:
            kinds[column] = same[0]
        else:
            kinds[column] = len(firsts)
            firsts.append(column)
    return kinds


def merged(seen: Observations, kinds: IntArray) -> Observations:
    """One column a kind: the weights add up, the updates are equal anyway."""
    n_kinds = int(kinds.max()) + 1
    membership = (kinds[:, None] == np.arange(n_kinds)).astype(np.float64)
    first = [int(np.argmax(kinds == kind)) for kind in range(n_kinds)]
    return replace(seen, models=seen.models @ membership, updates=seen.updates[:, first])
