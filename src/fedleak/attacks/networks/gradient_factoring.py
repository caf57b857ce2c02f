"""Rows and pictures of a client's batch, from one gradient.

The gradient of the first fully connected layer has the rank of the batch (SPEAR, arXiv 2403.03945); with smooth
activations its factors are found by matching all later gradients, for any labels. Where that layer is the network's
first, its inputs are the rows themselves; behind convolutions pixels are solved for. A batch has no order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.client_gradients import ClientGradient, client_gradients
from fedleak.attacks.networks.pixels_of_hidden import WORK, FoundPixels, pixels_of
from fedleak.attacks.networks.solved_batch import SolvedBatch, read_off, solved_batch
from fedleak.attacks.verdicts import from_assessment, nothing
from fedleak.core.adversary import Capability, SecretKind, Symmetry
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.one_gradient import OneGradient

PRECISE = 1e-3  # expected error of a row, of the rows' spread: what is called recovered
CAUTION = 10.0  # times the expected error: rows were off by up to a few times of it


class _Factoring(Attack):
    reference = Reference("fedleak", "docs/attacks/gradient-factoring.md")
    requires = frozenset({Capability.NETWORK, Capability.LAYER_GRADIENTS})
    up_to = frozenset({Symmetry.ROW_ORDER})
    preloads = ("torch", "scipy.optimize", "scipy.special")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(OneGradient.assess(facts), if_fails=Verdict.UNKNOWN)


@dataclass(frozen=True)
class GradientFactoring(_Factoring):
    name = "gradient-factoring"
    summary = "solves one gradient of a fully connected network for the rows of its batch"
    produces = SecretKind.FEATURES

    batches: int = 8  # that are solved, at most

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = _Rows()
        for seen in client_gradients(view, view.target.owner):
            if found.tried == self.batches:
                break
            if found.is_new(seen):
                found.add(seen, solved_batch(seen, rng), read_off(seen.network))
        return found.guess(view)


@dataclass(frozen=True)
class PictureFactoring(_Factoring):
    name = "picture-factoring"
    summary = "solves one gradient of a network with convolutions for the pictures of its batch"
    produces = SecretKind.IMAGES

    batches: int = 1  # that are solved, at most
    work: int = WORK  # pictures x iterations for a batch's pixels

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = _Rows()
        for seen in client_gradients(view, view.target.owner):
            if found.tried == self.batches:
                break
            if found.is_new(seen):
                found.add_pictures(seen, solved_batch(seen, rng), self.work)
        return found.guess(view)


class _Rows:
    """What was found of batches, one after the other; without ids, rows count from 0."""

    def __init__(self) -> None:
        self.tried = 0
        self._ids: list[int] = []
        self._rows: list[FloatArray] = []
        self._sure: list[bool] = []
        self._whys: list[str] = []
        self._evidence: dict[str, ScalarValue] = {}

    def is_new(self, seen: ClientGradient) -> bool:
        """No row of it was answered before; who cannot tell solves the first batch alone."""
        if seen.ids is None:
            return self.tried == 0
        return not set(seen.ids.tolist()) & set(self._ids) and len(set(seen.ids.tolist())) == len(seen.ids)

    def add(self, seen: ClientGradient, batch: SolvedBatch, read_off: bool) -> None:
        """Rows of a table: what the layer takes in."""
        self._note(batch)
        if batch.hidden is None or not read_off:
            self._whys += [batch.why or "the first fully connected layer does not take the rows as they are"]
            return
        assert batch.error is not None
        whole = seen.n_rows == len(batch.hidden.rows)  # of a size that nobody told, two equal rows may be one
        sure = np.asarray(CAUTION * batch.error <= PRECISE) & batch.fits & whole
        cells = seen.network.cells_of(batch.hidden.rows.reshape(-1, *seen.network.input_shape))
        left = "rounding leaves more than a thousandth open" if whole else "how many rows the batch has is not told"
        self._put(seen, cells, sure, "" if sure.all() else batch.why or left)

    def add_pictures(self, seen: ClientGradient, batch: SolvedBatch, work: int) -> None:
        self._note(batch)
        if batch.hidden is None or batch.factors is None or len(seen.network.input_shape) != 3:
            self._whys += [batch.why or "the network takes no pictures"]
            return
        if read_off(seen.network):
            inputs = batch.hidden.rows.reshape(-1, *seen.network.input_shape)
        else:
            pixels = pixels_of(seen.network, seen.values, batch.hidden, batch.factors.noise, seen.epsilon, work=work)
            self._note_pixels(pixels)
            inputs = pixels.inputs
        cells = seen.network.cells_of(np.clip(inputs, 0.0, 1.0))
        self._put(seen, cells, np.zeros(len(cells), dtype=bool), "that no other pixels fit as well is not shown")

    def _note(self, batch: SolvedBatch) -> None:
        self.tried += 1
        if batch.factors is not None:
            self._evidence |= {"rank": batch.factors.n_rows, "gap": batch.factors.gap}
        if batch.counts is not None:
            self._evidence["label_counts"] = " ".join(map(str, batch.counts.counts))
        if batch.hidden is not None and batch.error is not None:
            figures = {"misfit": batch.hidden.misfit, "expected_error": float(batch.error.max())}
            self._evidence |= {**figures, "starts_that_agree": batch.agreeing}

    def _note_pixels(self, pixels: FoundPixels) -> None:
        self._evidence |= {
            "gradient_residual": pixels.residual,
            "iterations": pixels.iterations,
            "equations": pixels.n_equations,
            "unknowns": int(pixels.inputs.size),
            "prior_power": pixels.power,
        }

    def _put(self, seen: ClientGradient, cells: FloatArray, sure: BoolArray, why: str) -> None:
        first = len(self._ids)
        ids: IntArray = np.arange(first, first + len(cells)) if seen.ids is None else seen.ids
        self._ids += ids.tolist()
        self._rows += list(cells)
        self._sure += sure.tolist()
        self._whys += [why] if why else []

    def guess(self, view: View) -> Guess:
        if not self._rows:
            why = self._whys[0] if self._whys else "no gradient of the client was seen with its network"
            width = max(1, view.facts.party(view.target.owner).n_features or 1)
            return nothing(view, why, self._evidence, width=width, status=Status.UNDETERMINED)
        status = Status.RECOVERED if all(self._sure) else Status.PARTIAL
        return Guess(
            view.target,
            status,
            np.array(self._ids, dtype=np.int64),
            np.stack(self._rows),
            evidence=self._evidence,
            why=self._whys[0] if self._whys else "",
        )
