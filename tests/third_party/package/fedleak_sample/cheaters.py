"""Attacks that the contract tests must fail: each is wrong in its own way."""

from __future__ import annotations

import gc
import time

import numpy as np

from fedleak.core.attack import Guess, Status
from fedleak.core.view import View
from fedleak_sample.averaged_weights import AveragedWeights


class FindsTheTruth(AveragedWeights):
    """Looks for the true labels in the memory of its process, and is honest where there are none."""

    name = "finds-the-truth"
    controls = ()

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        for found in gc.get_objects():
            if type(found).__name__ == "Truth" and view.target in found.secrets:
                secret = found.secrets[view.target]
                return Guess(view.target, Status.RECOVERED, secret.ids, np.array(secret.values))
        return super().run(view, rng=rng)


class AsksTheClock(AveragedWeights):
    """Its answer differs from one time to the next."""

    name = "asks-the-clock"
    controls = ()

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        honest = super().run(view, rng=rng)
        return Guess(view.target, honest.status, honest.ids, honest.values + time.time_ns() % 1000 * 1e-6)


class LoadsTheTable(AveragedWeights):
    """Takes the labels from where the scenario takes them."""

    name = "loads_the_table"
    controls = ()

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        from fedleak.data import DataSpec, load_table

        labels = load_table(DataSpec(source="sklearn:breast_cancer", max_rows=60)).labels
        return Guess(view.target, Status.RECOVERED, np.arange(60), np.asarray(labels, dtype=float)[:, None])
