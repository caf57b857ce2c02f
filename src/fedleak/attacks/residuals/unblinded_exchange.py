"""Encrypted scores and residuals that are not blinded: the public key opens them.

A partner's encrypted score is slope x score of each row of the batch, the residual slope x (score - target). What
opened residuals say of labels is ``unblinded_labels``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedleak.attacks.unblinded import common_modulus, decoded, integers_of, moduli_of, opened
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, CipherArray
from fedleak.core.steps import Step
from fedleak.core.transcript import Message
from fedleak.core.view import View
from fedleak.protocols.linear import vocabulary as linear

BLINDED = "every ciphertext is blinded by itself"
OPENS = "the public key opens every ciphertext"


def opened_rounds(view: View, messages: list[Message]) -> Iterator[tuple[int, IntArray, FloatArray]]:
    """Round, ids and plaintexts of each message; nothing where one is blinded."""
    batches = {m.round: np.asarray(m.payload.values) for m in view.at(linear.BATCH) if isinstance(m.payload, Array)}
    sent = [(m.round, m.payload) for m in messages if isinstance(m.payload, CipherArray) and m.round in batches]
    plain = _all_opened(view, [integers_of(c) for _, c in sent])
    for (number, c), values in zip(sent, plain, strict=False):
        if len(values) == len(batches[number]):
            yield number, batches[number].astype(np.int64), decoded(values, c)


def _all_opened(view: View, numbers: list[list[int]]) -> list[list[int]]:
    """By the one key, published or not, that opens everything; nothing where none does."""
    moduli = moduli_of(view.at(linear.PUBLIC_KEY))
    hidden = None if moduli else common_modulus(numbers)
    for modulus in moduli if hidden is None else [hidden]:
        found = [opened(one, modulus) for one in numbers]
        if None not in found:
            return [one for one in found if one is not None]
    return []


class UnblindedScores(Attack):
    name = "unblinded-scores"
    summary = "opens a partner's encrypted scores that have no random factor, with the public key alone"
    reference = Reference("fedleak", "docs/attacks/unblinded-scores.md")
    requires = frozenset({Capability.CIPHERTEXTS, Capability.BATCH_IDS, Capability.LABELS, Capability.LINEAR_RESIDUAL})
    produces = SecretKind.PARTIAL_SCORES
    apart = True
    reads_bytes = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        residual = view.facts.of(linear.LinearFacts).residual
        owner = view.target.owner
        sent = [m for m in view.at(linear.ENCRYPTED_SCORE) if m.sender == owner and m.receiver in view.coalition]
        if residual is None or not sent:
            raise MissingFromViewError(f"encrypted scores of {owner} and the rule of the residual must be known")
        found = list(opened_rounds(view, sent))
        if not found:
            return nothing(view, BLINDED, {}, width=1, status=Status.UNDETERMINED)
        return Guess(
            view.target,
            Status.RECOVERED,
            np.concatenate([np.column_stack([np.full(len(ids), number), ids]) for number, ids, _ in found]),
            np.concatenate([values for _, _, values in found])[:, None] / residual.slope,
            evidence={"rounds opened": len(found)},
            why=OPENS,
            certificate=OPENS if view.facts.party(owner).score_noise in (None, 0.0) and _quiet(view.facts) else "",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted_opening(facts, cls.requires, linear.ENCRYPTED_SCORE)


def _quiet(facts: Facts) -> bool:
    return facts.score_noise == 0.0


def predicted_opening(facts: Facts, requires: frozenset[Capability], step: Step[Any]) -> Prediction:
    if facts.capabilities is not None and not requires <= facts.capabilities:
        return Prediction(Verdict.IMPOSSIBLE, (f"no ciphertexts are received at {step}",))
    blinding = facts.of(linear.ArbiterFacts).blinding
    if blinding is None:
        return Prediction(Verdict.UNKNOWN, ("how ciphertexts are blinded is not known",))
    if blinding != "none":
        return Prediction(Verdict.UNKNOWN, (f"{BLINDED}: nothing is known that opens it",))
    return Prediction(Verdict.PARTIAL, ("ciphertexts without a random factor are opened by the public key",))
