"""What each member of a coalition has of its own in a training: columns, weights, gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.training.schedule import ResidualForm, rate_of
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.message import SETUP_ROUND
from fedleak.core.payload import Array
from fedleak.core.view import View
from fedleak.crypto import fixed_point


@dataclass(frozen=True, eq=False)
class OwnMember:
    """``pushes`` are a round's gradients as they came out of decryption; with ``encoded`` the l2 term is in them."""

    name: str
    ids: IntArray
    features: FloatArray
    labels: FloatArray | None
    weights: Mapping[int, FloatArray]  # after the round; SETUP_ROUND holds the first ones
    pushes: Mapping[int, FloatArray]
    encoded: bool
    fraction_bits: int | None

    def before(self, number: int) -> FloatArray:
        """The weights with which a round began."""
        return self.weights[number - 1] if number > 0 else self.weights[SETUP_ROUND]

    def scaled(self, rows: IntArray) -> FloatArray:
        """X / m as it entered the product."""
        return self._rounded(self.features[rows] / len(rows))

    def product(self, number: int, l2: float) -> FloatArray:
        """X^T d / m, without the l2 term."""
        if not self.encoded:
            return self.pushes[number]
        return self.pushes[number] - self._rounded(l2 * self.before(number))

    def share(self, rows: IntArray, number: int, form: ResidualForm, noise: FloatArray | float) -> FloatArray:
        """The member's own part of the residual, with the noise that it added before it was encoded."""
        score = self.features[rows] @ self.before(number)
        if self.labels is not None:
            score = score - form.target(self.labels[rows])
        score = score + noise
        return self._rounded(form.slope * score)

    def _rounded(self, values: FloatArray) -> FloatArray:
        if not self.encoded or self.fraction_bits is None:
            return values
        encoded = fixed_point.encode(values, self.fraction_bits)
        return np.ldexp(encoded.astype(np.float64), -self.fraction_bits)


def own_members(view: View) -> list[OwnMember]:
    """The coalition's members that hold columns."""
    found = [member for name in view.coalition if (member := _member(view, name)) is not None]
    if not found:
        raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no features")
    return found


def _member(view: View, name: str) -> OwnMember | None:
    if not any(True for _ in view.records("features", name)):
        return None
    table = view.table("features", name)
    labels = None
    if any(True for _ in view.records("labels", name)):
        labels = np.asarray(view.table("labels", name).values[:, 0], dtype=np.float64)
    steps_sent = _arrays(view, "step", name)
    pushes = {number: step / rate_of(view.facts, number) for number, step in steps_sent.items()}
    return OwnMember(
        name,
        np.asarray(table.ids, dtype=np.int64),
        np.asarray(table.values, dtype=np.float64),
        labels,
        _arrays(view, "weights", name),
        pushes or _arrays(view, "gradient", name),
        bool(pushes),
        view.facts.fraction_bits,
    )


def hold_steps(view: View) -> bool:
    """The coalition keeps what the arbiter opened for it: the sum that was computed, before the rate is divided out."""
    return any(True for _ in view.records("step"))


def hold_labels(view: View) -> bool:
    return any(True for _ in view.records("labels"))


def _arrays(view: View, record: str, name: str) -> dict[int, FloatArray]:
    return {r.round: r.value.values for r in view.records(record, name) if isinstance(r.value, Array)}
