"""A table from the gradients of fully connected networks over batches (Jin et al. 2021, steps I and II, solved).

Where a worker's network begins with a fully connected layer, what goes into it are the worker's own columns: two
linear systems give them, and there is nothing to descend on.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.cut_view import CutView
from fedleak.attacks.networks.input_matching import matched_inputs
from fedleak.attacks.networks.separated_rows import Separated, separate, why_not
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.layers import Flatten
from fedleak.theory.batch_separation import predicted_separation

REQUIRES = frozenset({Capability.CUT_NETWORKS, Capability.BATCH_IDS, Capability.LAYER_GRADIENTS})


class GradientSeparation(Attack):
    name = "gradient-separation"
    aliases = ("cafe-direct",)
    summary = "solves gradients over known batches for every row's input of the first fully connected layer"
    reference = Reference("jin2021", "section 3.3, steps I and II; solved directly")
    requires = REQUIRES
    produces = SecretKind.FEATURES
    preloads = ("torch",)

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        seen = CutView(view)
        refused = why_not(seen)
        if refused:
            return nothing(view, refused, {}, width=len(seen.network.columns), status=Status.UNDETERMINED)
        found = separate(seen)
        if not found.determined.any():
            return _none_determined(view, found, len(seen.network.columns))
        return _answer(view, seen, found)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted_separation(facts)


def _none_determined(view: View, found: Separated, width: int) -> Guess:
    """By the rank of the equations; where batches do not agree, that says nothing."""
    # Rows that stay together are not told apart by sums; that later layers do not tell them apart is not shown.
    return nothing(view, found.explained(), found.evidence(), width=width, status=Status.UNDETERMINED)


def _answer(view: View, seen: CutView, found: Separated) -> Guess:
    place = seen.network.first_linear or 0
    direct = all(isinstance(layer, Flatten) for layer in seen.network.layers[:place])
    kept = found.determined
    rows = found.hidden.values[kept]
    values: FloatArray = rows if direct else matched_inputs(seen.network, place, rows).values
    cells = np.full((len(kept), values[0].size), np.nan)
    cells[kept] = values.reshape(len(values), -1)
    sure = direct and found.agrees
    return Guess(
        view.target,
        Status.RECOVERED if sure and kept.all() else Status.PARTIAL,
        found.batches.ids,
        cells,
        evidence=found.evidence(),
        why=found.explained(),
        certificate=_proof(found) if sure and kept.all() else "",
    )


def _proof(found: Separated) -> str:
    n_batches, n_rows = found.batches.counts.shape
    return (
        f"{n_batches} gradients determine all {n_rows} rows, with equations to spare, and agree on one solution to "
        f"{found.hidden.residual:.1g}"
    )
