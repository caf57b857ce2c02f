"""Attacks that cheat, each in the way that one of the contract tests must catch."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from fedleak.attacks.labels.residual_sign import ResidualSign
from fedleak.core.guess import Guess, Status
from fedleak.core.view import View


class ReadsTheVictimsFile(ResidualSign):
    """Opens the data that lies in the working folder."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        with np.load(Path.cwd() / "bank.npz") as data:
            labels = np.asarray(data["labels"], dtype=float)
        return Guess(view.target, Status.RECOVERED, np.arange(len(labels)), labels[:, None])


class LooksAtTheFolder(ResidualSign):
    """Does not open the data, but lets what lies in the working folder change its answer."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        honest = super().run(view, rng=rng)
        size = (Path.cwd() / "bank.npz").stat().st_size
        digest = float(size % 7919) + float((Path.cwd() / "bank.npz").stat().st_mtime_ns % 104729)
        return Guess(view.target, honest.status, honest.ids, honest.values + digest)


class RemembersTheTruth(ResidualSign):
    """Was handed the labels behind the view's back."""

    smuggled: ClassVar[dict[int, float]] = {}

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids = np.array(sorted(self.smuggled), dtype=np.int64)
        values = np.array([[self.smuggled[int(row)]] for row in ids])
        return Guess(view.target, Status.RECOVERED, ids, values)


class NeverTries(ResidualSign):
    """Claims success and answers the same for every row."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids = np.asarray(view.table("features").ids, dtype=np.int64)
        return Guess(view.target, Status.RECOVERED, ids, np.ones((len(ids), 1)))
