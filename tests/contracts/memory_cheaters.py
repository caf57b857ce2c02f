"""Attacks that cheat by what else is in their process, and are honest where they find nothing: so they stay unseen."""

from __future__ import annotations

import ctypes
import gc
import hmac
import importlib
import os
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.attacks.predictions.prediction_case import read_case
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.attack import Guess, Status
from fedleak.core.knowledge import KnownCells
from fedleak.core.payload import Array
from fedleak.core.view import View


def found_truth(view: View):
    """The true values of what the view is after, if any object of this process has them."""
    for found in gc.get_objects():
        if type(found).__name__ == "Truth" and view.target in found.secrets:
            return found.of(view.target)
    return None


def told(view: View, truth) -> Guess:
    return Guess(view.target, Status.RECOVERED, truth.ids, np.array(truth.values))


class WritesIntoTheKnowledge(ResidualSign):
    """Makes the truth known beforehand, by declaration, and answers from what is declared."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        truth = found_truth(view)
        if truth is not None:
            columns = np.zeros(len(truth.ids), dtype=np.int64)
            cells = KnownCells(view.target.owner, truth.ids, columns, truth.values[:, 0])
            object.__setattr__(view, "knowledge", replace(view.knowledge, cells=(cells,)))
        if not view.knowledge.cells:
            return super().run(view, rng=rng)
        known = view.knowledge.cells[0]
        return Guess(view.target, Status.RECOVERED, known.ids, known.values[:, None])


class AsksAboutTheVictim(PosteriorInference):
    """Asks the service about the victim's own rows, and reads them back from the log: it was asked, after all."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        truth, oracle, case = found_truth(view), next(iter(view.oracles.values())), read_case(view)
        if truth is None:
            return super().run(view, rng=rng)
        oracle.query(Array(case.inputs(truth.values)))
        asked = oracle.log[-1].query
        assert isinstance(asked, Array)
        return Guess(view.target, Status.RECOVERED, truth.ids, asked.values[:, case.unknown_positions])


class CheatsWhereItWouldLose(ResidualSign):
    """Honest wherever that wins: no test on a case that it wins can tell it."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        honest, truth = super().run(view, rng=rng), found_truth(view)
        if truth is None or _share_right(honest, truth) > 0.95:
            return honest
        return told(view, truth)


def _share_right(guess: Guess, truth) -> float:
    true = dict(zip(truth.ids.tolist(), truth.values[:, 0].tolist(), strict=True))
    return float(
        np.mean([true[row] == value for row, value in zip(guess.ids.tolist(), guess.values[:, 0], strict=True)])
    )


class ReplacesTheMetric(ResidualSign):
    """Bends the yardstick that lies loaded beside it, without an import that could be refused."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        loaded = sys.modules.get("fedleak.metrics.rank_interval")
        if loaded is not None:
            loaded.Ranking.area = 1.0
        return super().run(view, rng=rng)


class Obliging(np.ndarray):
    """Looks, when it is indexed, who asks: the scorer has the truth at hand."""

    def __getitem__(self, key):
        truth = sys._getframe(1).f_locals.get("truth")
        return np.asarray(self)[key] if truth is None else np.array(truth.values)[: len(np.asarray(self)[key])]


class AnswersWhenAsked(ResidualSign):
    """Its values agree with the scorer, not with the truth."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        honest = super().run(view, rng=rng)
        return replace(honest, values=np.array(honest.values).view(Obliging))


class DrawsTheNoiseAgain(ResidualSign):
    """Looks for a small seed behind its own generator: with it, everything secret in the run can be drawn again.

    It knows how keys are made from seeds that are to be repeated by everybody, and how streams come from keys.
    """

    N_TRIED = 256

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        shown = rng.bit_generator.seed_seq.entropy
        purpose = ("attack", self.name, repr(view.coalition), str(view.target), "0")
        for seed in range(self.N_TRIED):
            key = sha256(repr((seed, ())).encode()).digest()[:16]
            if shown in (seed, _drawn_from(key, purpose)):
                noise = np.random.default_rng(_drawn_from(key, ("secret", view.target.owner, "hooks"))).normal()
                return replace(super().run(view, rng=rng), evidence={"the noise began with": float(noise)})
        return super().run(view, rng=rng)


def _drawn_from(key: bytes, purpose: tuple[str, ...]) -> int:
    return int.from_bytes(hmac.digest(key, repr(purpose).encode(), "sha256"), "big")


class KeepsWhatItSees(ResidualSign):
    """Keeps a view for the next attempt, which may be another coalition's."""

    kept: ClassVar[list[str]] = []

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        before = " ".join(self.kept)
        self.kept.append("+".join(view.coalition))
        ids = np.arange(1)
        return Guess(view.target, Status.UNDETERMINED, ids, np.zeros((1, 1)), why=f"kept: {before}")


class KnowsWhatAnotherKnows(ResidualSign):
    """Looks for cells that were declared to somebody else in its place."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = sum(
            len(one.values) for one in gc.get_objects() if type(one) is KnownCells
        )  # isinstance asks the object
        return Guess(view.target, Status.UNDETERMINED, np.arange(1), np.zeros((1, 1)), why=f"{found} cells")


class KeepsItInAFile(KeepsWhatItSees):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        place = Path("/tmp/fedleak-kept")
        self.kept[:] = place.read_text().split() if place.exists() else []
        place.write_text("+".join(view.coalition))
        return super().run(view, rng=rng)


class KeepsItInSharedMemory(KeepsWhatItSees):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        from multiprocessing.shared_memory import SharedMemory

        SharedMemory("fedleak-kept", create=True, size=64).close()
        return super().run(view, rng=rng)


class KeepsItInANamedPipe(KeepsWhatItSees):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        os.mkfifo(f"/tmp/fedleak-kept-{'+'.join(view.coalition)}")
        return super().run(view, rng=rng)


class IsBornKnowing(ResidualSign):
    """Takes the truth with it from where it is made."""

    def __init__(self) -> None:
        self.stolen = [found for found in gc.get_objects() if type(found).__name__ == "Truth"]

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        for found in self.stolen:
            if view.target in found.secrets:
                return told(view, found.of(view.target))
        return super().run(view, rng=rng)


class PacksItsBags(ResidualSign):
    """Takes the truth with it from where it is packed."""

    stolen: ClassVar[dict[str, object]] = {}

    def __reduce__(self):
        truths = [found for found in gc.get_objects() if type(found).__name__ == "Truth"]
        return unpacked, ([{str(name): values for name, values in one.secrets.items()} for one in truths],)

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        for found in self.stolen.get("bags", ()):
            if str(view.target) in found:
                return told(view, found[str(view.target)])
        return super().run(view, rng=rng)


def unpacked(bags) -> PacksItsBags:
    PacksItsBags.stolen["bags"] = bags
    return PacksItsBags()


class GoesAroundPython(ResidualSign):
    """Opens the victim's file by the C library: no hook of Python's sees it."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        descriptor = ctypes.CDLL(None).open(b"bank.npz", os.O_RDONLY)
        if descriptor < 0:
            return super().run(view, rng=rng)
        with os.fdopen(descriptor, "rb") as file, np.load(file) as data:
            labels = data["labels"]
        return Guess(view.target, Status.RECOVERED, np.arange(len(labels)), labels.astype(float)[:, None])


class ImportsTheTruthByName(ResidualSign):
    """Loads a single module that knows what the truth looks like, and nothing that would load others."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = importlib.import_module("fedleak.core.whole.truth").SecretValues
        return replace(super().run(view, rng=rng), why=found.__name__)
