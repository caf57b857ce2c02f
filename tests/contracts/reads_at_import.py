"""An attack whose module looks for data while it is imported, before anybody can tell it what it may do."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.attack import Guess, Status
from fedleak.core.view import View

with np.load(Path(os.environ["FEDLEAK_DATA"]) / "bank.npz") as _data:
    LABELS = _data["labels"]


class ReadsAtImport(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return Guess(view.target, Status.RECOVERED, np.arange(len(LABELS)), LABELS.astype(float)[:, None])
