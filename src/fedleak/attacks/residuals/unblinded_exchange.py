"""Scores and labels from encrypted scores and residuals that are not blinded: the public key opens them.

A partner's encrypted score is slope x score of each row of the batch, the residual slope x (score - target), of
logistic regression with target 2y for y = -1 or 1: its sign is that of -y while scores stay below 2. Where floats are
encrypted with all of their bits, the last ones tell the label as well, whatever the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedleak.attacks.residuals.rounding_evidence import log_ratio, precision_of
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
BY_SIGN = "a residual has the sign of its label while scores are below 2"
BY_BITS = "score minus target is rounded in another way for each label, which tells labels of large scores too"
MOST_BY_SIZE, LEAST_VARIANCE = 6.0, 0.25  # logarithms; of scores
MOST_ODDS = 15.0  # logarithms: beyond it the other label is as good as ruled out


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
        return _predicted(facts, cls.requires, linear.ENCRYPTED_SCORE)


class UnblindedLabels(Attack):
    name = "unblinded-labels"
    summary = "opens encrypted residuals that have no random factor, whose signs are the labels while scores are small"
    reference = Reference("fedleak", "docs/attacks/unblinded-labels.md")
    requires = frozenset({Capability.CIPHERTEXTS, Capability.BATCH_IDS, Capability.TWO_CLASSES})
    produces = SecretKind.LABELS
    reads_bytes = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        holder = view.target.owner
        steps = (linear.ENCRYPTED_RESIDUAL, linear.ENCRYPTED_SCORE)
        sent = [m for step in steps for m in view.at(step) if m.sender == holder and m.receiver in view.coalition]
        if not sent:
            raise MissingFromViewError(f"no residuals of {holder} were received, encrypted or not")
        rounds = list(opened_rounds(view, sent))
        if not rounds:
            return nothing(view, BLINDED, {}, width=1, status=Status.UNDETERMINED)
        ids, values = np.concatenate([ids for _, ids, _ in rounds]), np.concatenate([found for *_, found in rounds])
        rows, first, row_of = np.unique(ids, return_index=True, return_inverse=True)
        rule = view.facts.of(linear.LinearFacts).residual or linear.RESIDUALS["taylor"]
        by_bits = np.concatenate([_bit_evidence(found, rule) for *_, found in rounds])
        odds = _size_evidence(values[first], rule) + np.bincount(row_of, weights=by_bits)
        return Guess(
            view.target,
            Status.PARTIAL,
            rows,
            (odds > 0).astype(np.float64)[:, None],
            confidence=(1 / (1 + np.exp(-np.minimum(np.abs(odds), MOST_ODDS))))[:, None],
            evidence={"rows opened": len(rows), "rows told by last bits": int(np.sum(np.abs(odds) > MOST_ODDS))},
            why=f"{OPENS}; {BY_BITS if by_bits.any() else BY_SIGN}",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return _predicted(facts, cls.requires, linear.ENCRYPTED_RESIDUAL)


def _size_evidence(residuals: FloatArray, rule: linear.LinearResidual) -> FloatArray:
    """Log odds of label 1, of each row's first residual (later on scores are larger): scores are taken to be normal
    around 0, their variance that of all residuals without the targets' part. Bounded, since scores need not be so."""
    zero, one = rule.target(np.array([0.0, 1.0])).tolist()
    spread = max(float(np.var(residuals / rule.slope)) - ((one - zero) / 2) ** 2, LEAST_VARIANCE)
    odds = -residuals / rule.slope * (one - zero) / spread
    return np.asarray(MOST_BY_SIZE * np.tanh(odds / MOST_BY_SIZE))


def _bit_evidence(residuals: FloatArray, rule: linear.LinearResidual) -> FloatArray:
    """For label 1 against label 0, of slope x score - slope x target as a machine rounds it; 0 where it shows none."""
    precision = precision_of(residuals)
    if precision is None:
        return np.zeros(len(residuals))
    zero, one = (float(rule.slope * target) for target in rule.target(np.array([0.0, 1.0])))
    return log_ratio(residuals, one, zero, precision)


def _quiet(facts: Facts) -> bool:
    return facts.score_noise == 0.0


def _predicted(facts: Facts, requires: frozenset[Capability], step: Step[Any]) -> Prediction:
    if facts.capabilities is not None and not requires <= facts.capabilities:
        return Prediction(Verdict.IMPOSSIBLE, (f"no ciphertexts are received at {step}",))
    blinding = facts.of(linear.ArbiterFacts).blinding
    if blinding is None:
        return Prediction(Verdict.UNKNOWN, ("how ciphertexts are blinded is not known",))
    if blinding == "fresh":
        return Prediction(Verdict.UNKNOWN, (f"{BLINDED}: nothing is known that opens it",))
    return Prediction(Verdict.PARTIAL, ("ciphertexts without a random factor are opened by the public key",))
