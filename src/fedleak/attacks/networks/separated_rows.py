"""Steps I and II of CAFE solved, not descended: what goes into a worker's first fully connected layer, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.batch_indicators import Batches, Unmixed, unmixed
from fedleak.attacks.networks.cut_view import CutView
from fedleak.attacks.networks.hidden_inputs import HiddenInputs, hidden_inputs
from fedleak.attacks.networks.layer_gradients import GradientStream
from fedleak.attacks.networks.shared_subspaces import batches_needed, meetings, unmixed_by_spans
from fedleak.core.arrays import BoolArray, FloatArray, Value
from fedleak.core.payload import ScalarValue
from fedleak.models.layers import Linear

SUMS, SPANS = "sums over batches", "what batches have in common"
AGREES = 1e-5  # misfit, as a share, that float32 gradients of rows that stay the same keep far below
NO_GRADIENT = (
    1e-5  # of the usual length of v_n: below it, and with nothing but rounding left of its inputs, v_n is zero
)
ROUNDING_LEFT = 0.1  # expected relative error of such inputs: a v_n that is zero has had 0.8 by chance, others 2e-4


@dataclass(frozen=True, eq=False)
class Separated(Value):
    """Of the rows of ``batches``; rows that are not determined are NaN in ``hidden``."""

    batches: Batches
    found: Unmixed
    hidden: HiddenInputs
    method: str
    silent: BoolArray  # rows that add nothing to any gradient: v_n is zero, and their inputs are in none
    gap: float  # by how much the next direction fails to be common to a row's batches, the smallest of all rows

    @property
    def agrees(self) -> bool:
        """More equations than unknowns, and one solution of all of them."""
        return self.hidden.residual < AGREES and (np.isnan(self.found.residual) or self.found.residual < AGREES)

    @property
    def determined(self) -> BoolArray:
        return self.hidden.determined & ~self.silent

    def evidence(self) -> dict[str, ScalarValue]:
        told = self.hidden.expected_error[self.determined]
        return {
            "from": self.method,
            "batches": len(self.batches.counts),
            "rows": len(self.batches.ids),
            "rows determined": int(self.determined.sum()),
            "rows without a gradient": int(self.silent.sum()),
            "rows repeated within a batch": self.batches.n_repeats,
            "misfit of bias gradients": float(np.nan_to_num(self.found.residual)),
            "misfit of weight gradients": self.hidden.residual,
            "largest expected relative error": float(told.max()) if len(told) else 0.0,
            "smallest gap": self.gap,
        }

    def explained(self) -> str:
        """Which rows there are answers for, and why not for the others."""
        n_rows, silent = len(self.batches.ids), int(self.silent.sum())
        mixed = n_rows - silent - int(self.determined.sum())
        parts = [f"{self.method}: {int(self.determined.sum())} of {n_rows} rows are determined"]
        if silent:
            parts.append(f"{silent} add nothing to any gradient (v_n = 0), so that none holds their inputs")
        if mixed:
            parts.append(f"{mixed} are never apart from others in these batches")
        if self.batches.n_repeats:
            parts.append(f"indices repeat within batches {self.batches.n_repeats} times: such rows count twice")
        if not self.agrees:
            parts.append("the batches do not agree on one solution: gradients are changed, or parameters train")
        return "; ".join(parts)


def why_not(seen: CutView) -> str | None:
    """What the first two steps lack in this network; None where they can be taken."""
    place = seen.network.first_linear
    if place is None:
        return f"the network of {seen.owner} has no fully connected layer, from whose gradient the rows are separated"
    layer = seen.network.layers[place]
    if isinstance(layer, Linear) and not layer.bias:
        return (
            f"the first fully connected layer of {seen.owner} has no bias: its weight gradient fixes every row's input "
            "up to a factor at most"
        )
    return None if seen.drawn else f"the view holds no gradient of {seen.owner} whose rows are known"


def separate(seen: CutView) -> Separated:
    """By spans where batches are small enough for them, which needs far fewer batches; else by sums. Where gradients
    are changed spans break first, and least squares over all batches average what was added: the way that tells more
    rows is taken, and of two that tell as many the one that fits better."""
    place = seen.network.first_linear
    assert place is not None  # ``why_not`` has said so otherwise

    def stream(of: Batches = seen.batches) -> GradientStream:
        return lambda: (one for one, _ in zip(seen.layer(place), of.counts, strict=False))

    shape = seen.network.parameters[f"{place}.weight"].shape
    if seen.batches.sizes.max() <= min(shape):
        found = by_spans(seen.batches.first(batches_needed(seen.batches)), stream())
        if found is not None and found.agrees:
            return found
        ways = [by_sums(seen.batches, stream()), *([] if found is None else [found])]
        return max(ways, key=lambda way: (int(way.determined.sum()), -way.hidden.residual))
    return by_sums(seen.batches, stream())


def by_sums(batches: Batches, gradients: GradientStream) -> Separated:
    found = unmixed(batches, np.array([gradient.bias for gradient in gradients()]))
    hidden = hidden_inputs(batches, gradients, found)
    return Separated(batches, found, hidden, SUMS, _silent(found, hidden), 0.0)


def by_spans(batches: Batches, gradients: GradientStream) -> Separated | None:
    """None where batches overlap too little."""
    meets, sums = meetings(batches, gradients)
    found = unmixed_by_spans(batches, meets, sums)
    if found is None:
        return None
    lines: Sequence[FloatArray] = [one.basis for one in meets]
    hidden = hidden_inputs(batches, gradients, found, lines)
    unseen = np.array([not len(line) for line in lines])
    return Separated(batches, found, hidden, SPANS, _silent(found, hidden) | unseen, min(one.gap for one in meets))


def _silent(found: Unmixed, hidden: HiddenInputs) -> BoolArray:
    lengths = np.linalg.norm(found.values, axis=1)
    faint = lengths <= NO_GRADIENT * float(np.median(lengths))
    return np.asarray(found.determined & faint & ~(hidden.expected_error < ROUNDING_LEFT))
