"""What a coalition with the arbiter has of a training: every gradient, and with the key residuals and scores.

The active party is sent each passive party's scores, which the key opens one party at a time. Any other data party has
the residual alone: less its own part it is the sum over all parties outside, labels included, and they are then one
victim of all their columns (their gradients come apart, and with them the weights' steps).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import hypot, sqrt
from typing import TYPE_CHECKING

import numpy as np

from fedleak.attacks.residuals.own_side import OwnNoise, l2_of, own_members, rate_of, residual_of
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, CipherArray, Payload, digest
from fedleak.core.steps import DATA_ROLES, Role, Step
from fedleak.core.view import View
from fedleak.crypto import fixed_point
from fedleak.protocols.linear import vocabulary as linear

if TYPE_CHECKING:
    from fedleak.crypto.paillier_cipher import PaillierPrivateKey

EPS = float(np.finfo(np.float64).eps)

ByRound = Mapping[int, FloatArray]


@dataclass(frozen=True, eq=False)
class OpenedTraining:
    """A visit is a row in a round's batch; visits stand by row, then by round.

    scores = x . (walked + W0) [- target] and gradients = sum of pushes x + l2 (walked + W0), x and W0 unknown.
    """

    ids: IntArray
    columns: slice  # the target's, among those of all parties whose scores are one sum
    row: IntArray  # of a visit
    round: IntArray
    scores: FloatArray
    pushes: FloatArray  # a row's residual over the batch size
    walked: FloatArray  # (rounds, columns): the weights before the round, less the first ones
    gradients: FloatArray  # (rounds, columns)
    score_error: FloatArray  # (rounds,), a standard deviation
    gradient_error: FloatArray  # (rounds, columns)
    l2: float
    from_zero: bool  # the first weights are known: zero
    labels_inside: bool  # the scores have the unknown labels in them

    @property
    def n_rows(self) -> int:
        return len(self.ids)

    @property
    def n_rounds(self) -> int:
        return len(self.walked)

    @property
    def n_columns(self) -> int:
        return int(self.walked.shape[1])

    @property
    def open_start(self) -> bool:
        """Each row has one more unknown, the part of its score that never moves: x . W0, less the target."""
        return self.labels_inside or not self.from_zero

    @property
    def open_weights(self) -> bool:
        """The first weights stand in the gradients, by their L2 term."""
        return bool(self.l2) and not self.from_zero

    @property
    def n_equations(self) -> int:
        """Zero weights give zero scores, which say nothing."""
        idle = 0 if self.open_start else int(np.sum(self.round == 0))
        return len(self.row) - idle + self.gradients.size

    @property
    def least_unknowns(self) -> int:
        """Cells, and the first weights that all rows share; labels may have few values, and do not count."""
        return self.n_columns * (self.n_rows + (not self.from_zero))

    @property
    def n_unknowns(self) -> int:
        """Of the linear system, in which the part of a score that never moves is an unknown for each row."""
        return self.n_rows * (self.n_columns + self.open_start) + self.n_columns * self.open_weights


def opened_training(view: View) -> OpenedTraining:
    opener = Opener(view)
    residuals = opener.by_round(linear.ENCRYPTED_RESIDUAL)
    own_scores = opener.by_round(linear.ENCRYPTED_SCORE, sender=view.target.owner)
    victims = (view.target.owner,) if own_scores else _outside(view)
    gradients = [_gradients(view, victim) for victim in victims]
    batches = {m.round: _ids(m.payload) for m in view.at(linear.BATCH)}
    rounds = sorted(set(batches).intersection(residuals, *gradients))
    if not rounds:
        raise MissingFromViewError("the view holds no round with a batch, its residuals and the victim's gradient")
    form = residual_of(view.facts)
    shared = own_scores or _less_own(view, form, batches, residuals)
    return _assembled(
        view,
        rounds,
        batches,
        residuals,
        scores={number: values / form.slope for number, values in shared.items()},
        gradients=gradients,
        victims=victims,
    )


def _outside(view: View) -> tuple[str, ...]:
    return tuple(p.name for p in view.facts.parties if p.name not in view.coalition and p.role in DATA_ROLES)


def _ids(payload: Payload) -> IntArray:
    assert isinstance(payload, Array)
    return np.asarray(payload.values, dtype=np.int64)


def _gradients(view: View, party: str) -> ByRound:
    return {r.round: r.value.values for r in view.records(linear.GRADIENT_OF.of(party)) if isinstance(r.value, Array)}


def _less_own(view: View, form: linear.LinearResidual, batches: Mapping[int, IntArray], residuals: ByRound) -> ByRound:
    """Residuals without what the members put into them, to the last bit: they encoded it themselves."""
    noise, found = OwnNoise(view), dict(residuals)
    for member in own_members(view):
        position = positions_of(member.ids)
        for number in found:
            rows = np.array([position[int(row)] for row in batches[number]])
            found[number] = found[number] - member.share(rows, number, form, noise.on_scores(member.name, number))
    return found


def _assembled(
    view: View,
    rounds: Sequence[int],
    batches: Mapping[int, IntArray],
    residuals: ByRound,
    *,
    scores: ByRound,
    gradients: Sequence[ByRound],
    victims: Sequence[str],
) -> OpenedTraining:
    sizes = np.array([len(batches[number]) for number in rounds])
    ids, row = np.unique(np.concatenate([batches[number] for number in rounds]), return_inverse=True)
    turn = np.repeat(np.arange(len(rounds)), sizes)
    order = np.lexsort((turn, row))
    opened = np.stack([np.concatenate([of[number] for of in gradients]) for number in rounds])
    rates = np.array([rate_of(view.facts, number) for number in rounds])
    values = np.concatenate([scores[number] for number in rounds])
    residual = [residuals[number] for number in rounds]
    starts = np.concatenate([[0], np.cumsum([len(of[rounds[0]]) for of in gradients])])
    place = victims.index(view.target.owner)
    return OpenedTraining(
        ids=ids,
        columns=slice(int(starts[place]), int(starts[place + 1])),
        row=row[order],
        round=turn[order],
        scores=values[order],
        pushes=(np.concatenate(residual) / np.repeat(sizes, sizes))[order],
        walked=np.cumsum(np.vstack([np.zeros(opened.shape[1]), -rates[:-1, None] * opened[:-1]]), axis=0),
        gradients=opened,
        score_error=_score_error(view.facts, victims, values, len(rounds)),
        gradient_error=_gradient_error(view.facts, residual, opened),
        l2=l2_of(view.facts),
        from_zero=view.facts.initialisation == "zero",
        labels_inside=len(victims) > 1 or victims[0] in {p.name for p in view.facts.with_role(Role.ACTIVE)},
    )


def _score_error(facts: Facts, victims: Sequence[str], scores: FloatArray, n_rounds: int) -> FloatArray:
    """Each victim rounds slope times its score; what noise it declares comes on top. Weights are summed in floating
    point, an error a round."""
    rounding = _rounding(facts) * sqrt(len(victims)) / residual_of(facts).slope
    levels = [facts.party(name).score_noise for name in victims]
    noise = hypot(*(facts.score_noise or 0.0 if level is None else level for level in levels))
    floating = EPS * (4 + sqrt(n_rounds)) * float(np.sqrt(np.mean(scores**2)))
    return np.full(n_rounds, hypot(rounding, noise, floating))


def _gradient_error(facts: Facts, residuals: Sequence[FloatArray], gradients: FloatArray) -> FloatArray:
    """X / batch is rounded before it meets the residual, the l2 term before it is added; decoding keeps 53 bits."""
    rounding = _rounding(facts) * np.sqrt([1.0 + float(values @ values) for values in residuals])
    floating = 4 * EPS * np.sqrt(np.mean(gradients**2, axis=0))
    return np.asarray(np.hypot(rounding[:, None], floating[None, :]))


def _rounding(facts: Facts) -> float:
    return 0.0 if facts.fraction_bits is None else 2.0**-facts.fraction_bits / sqrt(12)


class Opener:
    """A real key decrypts; for the ideal cipher the key holder's records stand in, under the ciphertext's digest."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._keys = [record.value for record in view.records(linear.PRIVATE_KEY)]
        if not self._keys:
            raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no private key")
        self._opened = {
            record.name: record.value.values
            for name in view.coalition
            for record in view.locals.get(name, ())
            if linear.OPENED_BY_KEY.covers(record.name) and isinstance(record.value, Array)
        }

    def by_round(self, step: Step[CipherArray], sender: str | None = None) -> dict[int, FloatArray]:
        """The first message of each round; the active party sends the same residual to every passive one."""
        found: dict[int, FloatArray] = {}
        for message in self._view.at(step):
            if message.round in found or (sender is not None and message.sender != sender):
                continue
            if isinstance(message.payload, CipherArray):
                found[message.round] = self.open(message.payload)
        return found

    def open(self, encrypted: CipherArray) -> FloatArray:
        known = self._opened.get(linear.OPENED_BY_KEY.of(digest(encrypted)).name)
        if known is not None:
            return np.asarray(known, dtype=np.float64)
        for payload in self._keys:
            key = _paillier(payload)
            if key.public.key_id == encrypted.key_id:
                return fixed_point.decode(key.decrypt(encrypted), encrypted.fraction_bits, key.public.modulus)
        raise MissingFromViewError("no private key of the view belongs to this ciphertext")


@lru_cache(maxsize=8)
def _paillier(payload: Payload) -> PaillierPrivateKey:
    from fedleak.crypto.sent_keys import private_key_from_payload  # gmpy2: a list of attacks needs none

    return private_key_from_payload(payload)
