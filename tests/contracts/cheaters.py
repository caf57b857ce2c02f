"""Attacks that cheat, each in the way that one of the contract tests must catch."""

from __future__ import annotations

import gc
import importlib
import os
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.attacks.predictions.prediction_case import read_case
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.attack import Guess, Status
from fedleak.core.view import View


class ReadsTheVictimsFile(ResidualSign):
    """Opens the data that lies in the working folder."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        with np.load(Path.cwd() / "bank.npz") as data:
            return _answer(view, data["labels"])


class FollowsTheEnvironment(ResidualSign):
    """Opens the data in the folder that the environment names."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        with np.load(Path(os.environ["FEDLEAK_DATA"]) / "bank.npz") as data:
            return _answer(view, data["labels"])


class TakesADetour(ResidualSign):
    """Opens the same file by a name that seems to lie elsewhere."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        with np.load("/proc/self/cwd/bank.npz") as data:
            return _answer(view, data["labels"])


class ReadsItsOwnProcess(ResidualSign):
    """Looks for paths in what the system tells of the process."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        Path("/proc/self/environ").read_bytes()
        return super().run(view, rng=rng)


class ImportsTheLoader(ResidualSign):
    """Imports by name what the import contracts keep from it."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        data = importlib.import_module("fedleak.data")
        table = data.load_table(data.DataSpec(source="sklearn:breast_cancer", max_rows=60))
        return _answer(view, table.labels)


class KnowsTheTable(ResidualSign):
    """Takes the controls' table from the package that ships it."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        from sklearn.datasets import load_breast_cancer

        return _answer(view, load_breast_cancer().target)


class LeavesANote(ResidualSign):
    """Writes where it may read, for a later process to find."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        import fedleak

        with open(Path(fedleak.__file__).with_name("note"), "x"):
            return super().run(view, rng=rng)


class SearchesTheMemory(ResidualSign):
    """Looks for the truth among all objects of the process, and is honest where there is none."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        for found in gc.get_objects():
            if type(found).__name__ == "Truth" and view.target in found.secrets:
                secret = found.secrets[view.target]
                return Guess(view.target, Status.RECOVERED, secret.ids, secret.values)
        return super().run(view, rng=rng)


class BendsTheYardstick(ResidualSign):
    """Answers anything, and has the metric call it right."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        importlib.import_module("fedleak.metrics.rank_interval").Ranking.area = 1.0
        return super().run(view, rng=rng)


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
        values = np.array([self.smuggled[int(row)] for row in ids], dtype=float)
        return Guess(view.target, Status.RECOVERED, ids, values[:, None])


class NeverTries(ResidualSign):
    """Claims success and answers the same for every row."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids = np.asarray(view.table("features").ids, dtype=np.int64)
        return Guess(view.target, Status.RECOVERED, ids, np.ones((len(ids), 1)))


class DigsInTheOracle(PosteriorInference):
    """Goes behind the answers of a model, to the rows that it was trained on."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        oracle = next(iter(view.oracles.values()))
        reached = [cell.cell_contents for cell in oracle._serve.__self__.serve.__closure__]
        model = next(found for found in reached if hasattr(found, "answer"))
        estimator = next(cell.cell_contents for cell in model.answer.__closure__)
        case = read_case(view)
        return Guess(view.target, Status.RECOVERED, case.ids, estimator._fit_X[:, case.unknown_positions])


def _answer(view: View, labels: np.ndarray) -> Guess:
    return Guess(view.target, Status.RECOVERED, np.arange(len(labels)), np.asarray(labels, dtype=float)[:, None])
