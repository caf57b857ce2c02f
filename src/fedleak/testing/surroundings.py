"""Servers of attack processes amid somebody's data: where a cheater would look for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.attack import Attack
from fedleak.core.whole.federation import Federation, Party
from fedleak.storage.view_and_guess import guess_to_bytes
from fedleak.testing.situations import Situation
from fedleak.trial.isolation import Isolation


@dataclass(frozen=True, eq=False)
class Surroundings:
    """A server of attack processes in a folder that its environment names too."""

    folder: Path
    isolation: Isolation

    def guess(self, attack: type[Attack], case: Situation, data: Federation) -> bytes:
        """Of an attack on what the case's coalition saw, with somebody's data lying about."""
        view = case.view()
        self.isolation.preload([attack])
        with self.lying_about(data), closing(self.isolation.chamber(view)) as chamber:
            rng = case.played.randomness.attack(attack.name, case.coalition, str(case.task.target), 0)
            return guess_to_bytes(chamber.attempt(attack, view, rng=rng))

    @contextmanager
    def lying_about(self, data: Federation) -> Iterator[None]:
        for party in data.parties:
            np.savez(self.folder / f"{party.name}.npz", features=party.train.features, labels=_labels(party))
        try:
            yield
        finally:
            for file in list(self.folder.iterdir()):
                file.unlink()


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    isolation = Isolation(folder=folder, environment={"FEDLEAK_DATA": str(folder)})
    try:
        yield Surroundings(folder, isolation)
    finally:
        isolation.close()


def _labels(party: Party) -> AnyArray:
    return np.zeros(0) if party.train.labels is None else np.asarray(party.train.labels)
