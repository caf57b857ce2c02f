"""A model that can be asked and not read: any object that gives confidences for rows.

It travels as a description alone. Whoever may use it gets a service that answers rows with confidences, so nothing
else of the object (a nearest-neighbour model keeps its training rows) is within reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import FedleakError, InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text

KIND = "opaque"
SERVICE = "model"  # the oracle by which an opaque model is asked
SUM_TOLERANCE = 1e-4  # a softmax in single precision is off by less
NOT_STORED = "the model was served as an object and is not in the transcript; it must be served again to be asked"


@dataclass(frozen=True, eq=False)
class OpaqueModel(Model):
    """``answer`` may be a stranger's code: what it returns is checked every time."""

    columns: tuple[str, ...]
    n_outputs: int
    answer: Callable[[FloatArray], AnyArray] = field(repr=False)
    about: str  # what it is, in the user's own words: a class name
    why: str = ""  # why its parameters cannot be read

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", checked_columns(self.columns, len(self.columns)))
        if self.n_outputs < 2:
            raise InputError(f"{self.about} must have two classes or more; got {self.n_outputs}")

    @property
    def n_classes(self) -> int:
        return self.n_outputs

    def confidences(self, rows: FloatArray) -> FloatArray:
        if not len(rows):
            return np.zeros((0, self.n_outputs))
        return checked_answer(asked(self.answer, rows, self.about), len(rows), self.n_outputs, self.about)

    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> OpaqueModel:
        inner = self.answer
        return replace(self, answer=lambda rows: inner((rows - shift) / scale))

    def to_spec(self) -> ModelSpec:
        """A description: enough to know what was asked, not enough to ask again."""
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "n_classes": self.n_outputs,
            "about": self.about,
        }
        return ModelSpec(KIND, config, {})


def asked(answer: Callable[[FloatArray], AnyArray], rows: FloatArray, about: str) -> FloatArray:
    """What a stranger's model says; whatever it raises becomes one line that names it."""
    try:
        return np.asarray(answer(rows), dtype=np.float64)
    except FedleakError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{about} must answer {len(rows)} rows of {rows.shape[1]} columns; it raised {type(error).__name__}: {said}"
        ) from error


def checked_answer(values: FloatArray, n_rows: int, n_classes: int, about: str) -> FloatArray:
    """One confidence a class; of two classes, that of the second alone will do."""
    if n_classes == 2 and values.shape in ((n_rows,), (n_rows, 1)):
        second = values.reshape(n_rows, 1)
        values = np.hstack([1.0 - second, second])
    if values.shape != (n_rows, n_classes):
        raise InputError(
            f"confidences of {about} must have shape {(n_rows, n_classes)}, a row an input; got {values.shape}"
        )
    if not np.isfinite(values).all():
        raise InputError(f"confidences of {about} must be finite; got NaN or infinity")
    if (values < -SUM_TOLERANCE).any() or (values > 1 + SUM_TOLERANCE).any():
        raise InputError(
            f"confidences of {about} must lie between 0 and 1; got {values.min():.4g} to {values.max():.4g}"
        )
    sums = values.sum(axis=1)
    worst = float(sums[np.argmax(np.abs(sums - 1.0))])
    if abs(worst - 1.0) > SUM_TOLERANCE:
        raise InputError(f"confidences of {about} must sum to 1 in every row; got a row that sums to {worst:.4g}")
    return np.clip(values, 0.0, 1.0)
