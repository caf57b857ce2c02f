"""Pictures from gradients over batches (Jin et al. 2021): steps I and II solved, step III by matching h alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.cut_view import CutView
from fedleak.attacks.networks.gradient_separation import REQUIRES
from fedleak.attacks.networks.input_matching import N_STEPS, Matched, matched_inputs
from fedleak.attacks.networks.separated_rows import Separated, separate, why_not
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.batch_separation import predicted_separation


@dataclass(frozen=True)
class PictureSeparation(Attack):
    name = "picture-separation"
    aliases = ("cafe-direct-pictures",)
    summary = (
        "solves gradients over known batches for what enters the fully connected layers, and matches pictures to it"
    )
    reference = Reference("jin2021", "section 3.3; steps I and II solved directly, step III by h alone")
    requires = REQUIRES
    produces = SecretKind.IMAGES
    preloads = ("torch",)

    n_steps: int = N_STEPS  # of each attempt at a picture

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        seen = CutView(view)
        refused = why_not(seen)
        if refused:
            return nothing(view, refused, {}, width=len(seen.network.columns), status=Status.UNDETERMINED)
        found = separate(seen)
        if not found.determined.any():
            width = len(seen.network.columns)
            return nothing(view, found.explained(), found.evidence(), width=width, status=Status.UNDETERMINED)
        place = seen.network.first_linear or 0
        wanted = found.hidden.values[found.determined]
        matched = matched_inputs(
            seen.network,
            place,
            wanted,
            n_steps=self.n_steps,
            done=lambda so_far: self.interim(_guess(view, seen, found, so_far)),
        )
        return _guess(view, seen, found, matched)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted_separation(facts, pictures=True)


def _guess(view: View, seen: CutView, found: Separated, matched: Matched) -> Guess:
    """Pictures whose outputs do not fit are told as well as they are known: how many there are stands beside them."""
    tried = np.isfinite(matched.misfits)
    cells = np.full((len(found.batches.ids), *seen.network.cell_shape), np.nan)
    cells[np.flatnonzero(found.determined)[tried]] = seen.as_cells(matched.values[tried])
    fitting = int(matched.fits.sum())
    evidence = {
        **found.evidence(),
        "pictures that fit": fitting,
        "largest misfit": float(matched.misfits[tried].max(initial=0.0)),
    }
    why = f"{found.explained()}; pictures of {fitting} fit what was solved for"
    return Guess(view.target, Status.PARTIAL, found.batches.ids, cells, evidence=evidence, why=why)
