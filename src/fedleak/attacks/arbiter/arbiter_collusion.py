"""A party's rows from its gradients and the residuals, by a coalition with the arbiter (Li et al. 2021, section 4.1).

The arbiter opens every gradient, and with its key the residuals that a data party has as ciphertexts. The paper takes
differences of neighbouring rounds, which doubles the noise and halves what is used; here the unknowns are [X; W0]:

    g_k + l2 sum_{j<k} rate_j g_j = X^T d_k / batch + l2 W0        for every round k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fedleak.attacks.residuals.own_side import l2_of, rate_of
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, positions_of
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, CipherArray, Payload, digest
from fedleak.core.view import View
from fedleak.crypto import fixed_point
from fedleak.protocols.linear import vocabulary as linear
from fedleak.theory.inner_products import ArbiterCollusion as CollusionTheorem

if TYPE_CHECKING:
    from fedleak.crypto.paillier_cipher import PaillierPrivateKey

RANK_TOLERANCE = 1e-10  # directions weaker than this, relative to the strongest, hold no usable digit
TOUCHED = 1e-6  # a row with a larger part in the null space is not determined
AGREEING = 1e-6  # as a share of all gradients: rounds that the solution misses by less agree
COARSE = 0.01  # nor one whose expected error is over this share of a typical cell


@dataclass(frozen=True, eq=False)
class _System:
    """``design`` (rounds, rows [+ 1 for W0]) times the unknowns (rows [+ 1], columns) is ``gradients``."""

    ids: IntArray
    design: FloatArray
    gradients: FloatArray


@dataclass(frozen=True, eq=False)
class _Solution:
    values: FloatArray  # (rows, columns)
    errors: FloatArray  # expected, of each row's cells
    determined: BoolArray
    rank: int
    condition: float
    misfit: float  # norm of what the solution leaves of the gradients


class ArbiterCollusion(Attack):
    name = "arbiter-collusion"
    summary = "with the arbiter's key, solves every party's gradients for its rows by linear least squares"
    reference = Reference("li2021", "section 4.1, multi-party")
    requires = frozenset(
        {Capability.ALL_GRADIENTS, Capability.DECRYPTION_KEY, Capability.CIPHERTEXTS, Capability.BATCH_IDS}
    )
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        system = _read(view)
        found = _solve(system, view.facts.fraction_bits)
        good = found.determined
        n_rounds, n_unknown = system.design.shape
        why = f"{n_rounds} rounds give {found.rank} independent residual vectors for {n_unknown} unknowns of a column"
        if not good.all():
            why += f"; {len(good) - int(good.sum())} rows are not determined (condition {found.condition:.1g})"
        return Guess(
            view.target,
            Status.RECOVERED if good.all() else Status.PARTIAL if good.any() else Status.NOT_IDENTIFIABLE,
            system.ids[good],
            found.values[good],
            evidence={
                "rounds": n_rounds,
                "unknowns of a column": n_unknown,
                "rank": found.rank,
                "condition": found.condition,
                "determined rows": int(good.sum()),
                "expected error of a cell": float(np.median(found.errors)),
            },
            why=why,
            certificate=_proof(system, found) if good.all() else "",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(CollusionTheorem.assess(facts), if_fails=Verdict.PARTIAL)


def _proof(system: _System, found: _Solution) -> str:
    """The key opened the residuals, and more gradients than unknowns agree on one table."""
    n_spare = len(system.design) - system.design.shape[1]
    size = float(np.linalg.norm(system.gradients))
    if n_spare < 1 or size == 0 or found.misfit > AGREEING * size:
        return ""
    return (
        f"the key opens the residuals of {len(system.design)} rounds; their gradients have one solution, with "
        f"{n_spare} rounds to spare, which agree to {found.misfit / size:.1g}"
    )


def _read(view: View) -> _System:
    residuals = _residuals(view)
    gradients = {
        record.round: record.value.values
        for record in view.records(linear.GRADIENT_OF.of(view.target.owner))
        if isinstance(record.value, Array)
    }
    batches = {
        m.round: np.asarray(m.payload.values, dtype=np.int64)
        for m in view.at(linear.BATCH)
        if isinstance(m.payload, Array)
    }
    rounds = sorted(set(residuals) & set(gradients) & set(batches))
    if not rounds:
        raise MissingFromViewError("the view holds no round with a batch, its residuals and the victim's gradient")
    ids = np.unique(np.concatenate([batches[number] for number in rounds]))
    position = positions_of(ids)
    l2 = l2_of(view.facts)
    design = np.zeros((len(rounds), len(ids) + (1 if l2 else 0)))
    targets = np.zeros((len(rounds), len(gradients[rounds[0]])))
    walked = np.zeros(targets.shape[1])
    for index, number in enumerate(rounds):
        where = [position[int(row)] for row in batches[number]]
        design[index, where] = residuals[number] / len(where)
        if l2:
            design[index, -1] = l2
        targets[index] = gradients[number] + l2 * walked
        walked += rate_of(view.facts, number) * gradients[number]
    return _System(ids, design, targets)


def _residuals(view: View) -> dict[int, FloatArray]:
    """Opened residuals by round; the active party sends the same ciphertexts to every passive one."""
    opener, found = Opener(view), {}
    for message in view.at(linear.ENCRYPTED_RESIDUAL):
        if message.round not in found and isinstance(message.payload, CipherArray):
            found[message.round] = opener.open(message.payload)
    return found


def _solve(system: _System, fraction_bits: int | None) -> _Solution:
    """Least squares by one singular value decomposition, which also tells what is determined and how well."""
    scale = np.linalg.norm(system.design, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    left, singular, right = np.linalg.svd(system.design / scale, full_matrices=False)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0]))
    solution = (right[:rank].T @ ((left[:, :rank].T @ system.gradients) / singular[:rank, None])) / scale[:, None]
    n_rows = len(system.ids)
    values = solution[:n_rows]
    errors = _noise(system, fraction_bits) * np.linalg.norm(right[:rank].T / singular[:rank], axis=1) / scale
    inside = np.sum(right[:rank] ** 2, axis=0)  # 1 where the unknown lies in the row space as a whole
    determined: BoolArray = (1.0 - inside[:n_rows]) < TOUCHED**2
    determined = determined & (errors[:n_rows] <= COARSE * float(np.sqrt(np.mean(values**2))))
    misfit = float(np.linalg.norm(system.design @ solution - system.gradients))
    condition = float(singular[0] / singular[rank - 1])
    return _Solution(values, errors[:n_rows], determined, rank, condition, misfit)


def _noise(system: _System, fraction_bits: int | None) -> float:
    """Of a gradient: the l2 term is rounded before it is added, and decoding keeps 53 bits."""
    rounding = 0.0 if fraction_bits is None else 2.0**-fraction_bits / np.sqrt(12)
    floating = float(np.finfo(np.float64).eps) * float(np.sqrt(np.mean(system.gradients**2)))
    return float(np.hypot(rounding, floating))


class Opener:
    """A real key decrypts; for the ideal cipher the key holder's records stand in, under the ciphertext's digest."""

    def __init__(self, view: View) -> None:
        self._keys = [record.value for record in view.records(linear.PRIVATE_KEY)]
        if not self._keys:
            raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no private key")
        self._opened = {
            record.name: record.value.values
            for name in view.coalition
            for record in view.locals.get(name, ())
            if linear.OPENED_BY_KEY.covers(record.name) and isinstance(record.value, Array)
        }

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
    from fedleak.crypto.paillier_cipher import private_key_from_payload  # gmpy2: a list of attacks needs none

    return private_key_from_payload(payload)
