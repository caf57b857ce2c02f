"""Findings of made-up answers about made-up tables, by the decision that an audit uses, without running a protocol."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Status
from fedleak.core.finding import Finding, Mode, Theory
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.trial.attempt import Attempt, scored
from fedleak.trial.decide import Question, decide

FEATURES = Secret(SecretKind.FEATURES, "bank")
RANGES = Secret(SecretKind.RANGES, "bank")
NOBODY = Knowledge()


class Claimed(ResidualSign):
    """Its name and no more: answers are made up."""


class Matched(Claimed):
    up_to = frozenset({Symmetry.ROW_ORDER})


def values(true: FloatArray, prefix: str = "c") -> SecretValues:
    return SecretValues.spanning(np.arange(len(true)), tuple(f"{prefix}{i}" for i in range(true.shape[1])), true)


def found(
    true: FloatArray,
    *answers: FloatArray,
    secret: Secret = FEATURES,
    knowledge: Knowledge = NOBODY,
    own: FloatArray | None = None,
    attack: type[Attack] = Claimed,
    intervals: FloatArray | None = None,
    status: Status = Status.PARTIAL,
    certificate: str = "",
) -> Finding:
    """One finding over as many runs as there are answers."""
    secrets = {secret: values(true)}
    if own is not None:
        secrets[Secret(SecretKind.FEATURES, "fintech")] = values(own, "own")
    guesses = [
        Guess(secret, status, np.arange(len(true)), answer, intervals=intervals, certificate=certificate)
        for answer in answers
    ]
    return decide(question(secret), _attempts(guesses, Truth(secrets), knowledge, attack))


def question(secret: Secret, attack: str = "claimed") -> Question:
    return Question(("fintech",), Mode.PASSIVE, attack, secret, None, Theory("unknown", ()))


def _attempts(guesses: Sequence[Guess], truth: Truth, knowledge: Knowledge, attack: type[Attack]) -> list[Attempt]:
    return [
        scored(Attempt(attack, ("fintech",), guess.secret, knowledge, guess, 0.0), truth, np.random.default_rng(number))
        for number, guess in enumerate(guesses)
    ]


def known(true: FloatArray, share: float, rng: np.random.Generator) -> tuple[Knowledge, FloatArray]:
    """Some cells, and a mask of them."""
    mask = rng.random(true.shape) < share
    rows, columns = np.nonzero(mask)
    return Knowledge(cells=(KnownCells("bank", rows, columns, true[rows, columns]),)), mask
