"""From rows to a guess, all the way: a real federation, its transcript, one party's view, the attack, the score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Secret
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.finding import Score
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import Randomness, public_stream
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.trial.attempt import Attempt
from fedleak.trial.play import Played, play

CURIOUS, VICTIM, SERVER = "curious", "victim", "server"


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and 0/1 labels."""

    features: FloatArray
    labels: IntArray

    def part(self, positions: IntArray) -> Rows:
        return Rows(self.features[positions], self.labels[positions])


def coin_rows(m: int, d: int, seed: int, purpose: str) -> Rows:
    rng = public_stream(seed, "li2019", purpose, str(m), str(d))
    return Rows(rng.integers(0, 2, (m, d)).astype(np.float64), rng.integers(0, 2, m))


def two_parties(
    curious: Rows, victim: Rows, settings: HorizontalLogisticSettings, test: Rows | None = None
) -> Federation:
    """The curious party and the victim; ``test`` rows, if any, measure the model."""
    return parties_of({CURIOUS: curious, VICTIM: victim}, settings, test)


def parties_of(
    tables: Mapping[str, Rows], settings: HorizontalLogisticSettings, test: Rows | None = None
) -> Federation:
    """Each with rows of its own; the first has the ``test`` rows."""
    parties = [
        _party(name, rows, number * 1_000_000, None if number else test)
        for number, (name, rows) in enumerate(tables.items())
    ]
    server = Party(SERVER, Role.SERVER, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0))))
    return Federation("horizontal-logistic", (*parties, server), settings)


def run(federation: Federation, seed: int, defense: Defense | None = None) -> Played:
    return play(federation, Randomness.published(seed, "li2019"), defense=defense)


def attempt(played: Played, name: str) -> Attempt:
    """The curious party's, scored."""
    attack = ATTACKS.get(name)
    target = Secret(attack.produces, VICTIM)
    return played.attempt(attack, (CURIOUS,), target)


def main_score(tried: Attempt) -> Score | None:
    """By the secret's main metric; None where the attack says nothing."""
    return tried.scores[0] if tried.scores else None


def inner_products_exact(played: Played, tried: Attempt) -> tuple[bool, bool]:
    """Of the columns with one another, and with the labels."""
    found, truth = tried.guess.values, played.run.truth.of(tried.target).values
    return np.array_equal(found[:, :-1], truth[:, :-1]), np.array_equal(found[:, -1], truth[:, -1])


def _party(name: str, rows: Rows, first_id: int, test: Rows | None) -> Party:
    columns = tuple(f"c{i}" for i in range(rows.features.shape[1]))
    held_out = None if test is None else _slice(test, first_id + 500_000)
    return Party(name, Role.ACTIVE, columns, _slice(rows, first_id), held_out)


def _slice(rows: Rows, first_id: int) -> Slice:
    return Slice(np.arange(first_id, first_id + len(rows.labels)), rows.features, rows.labels)
