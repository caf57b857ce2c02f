"""The target column as labels: 0/1, class numbers, or real numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import DataError, listed, nearest
from fedleak.data.column_encoding import category_codes
from fedleak.data.raw_table import RawColumn, cell_text
from fedleak.data.spec import EncodingOptions, TaskName

MAX_CLASSES = 1000


@dataclass(frozen=True)
class LabelEncoding:
    """What the labels stand for. In a binary task ``positive`` is the class that is 1."""

    target: str
    task: TaskName
    classes: tuple[str, ...] = ()
    positive: str | None = None
    offset: float = 0.0  # of a regression's labels: what was taken off
    scale: float = 1.0  # and by what the rest was divided

    def decode(self, labels: AnyArray) -> tuple[str | float, ...]:
        """Class names; numbers in a regression. The 0 of a one-versus-rest task reads "not POSITIVE"."""
        if self.task == "regression":
            return tuple(float(label) * self.scale + self.offset for label in labels)
        if self.task == "multiclass":
            return tuple(self.classes[int(label)] for label in labels)
        rest = [name for name in self.classes if name != self.positive]
        negative = rest[0] if len(rest) == 1 else f"not {self.positive}"
        return tuple(str(self.positive) if label else negative for label in labels)


def rows_of_classes(target: RawColumn, wanted: tuple[str | int | float, ...]) -> AnyArray:
    """True for the rows whose target is one of the classes."""
    classes, codes = category_codes(target)
    codes_wanted = [classes.index(_known_class("classes", value, classes, target.name)) for value in wanted]
    return np.isin(codes, codes_wanted)


def encode_labels(target: RawColumn, options: EncodingOptions) -> tuple[AnyArray, LabelEncoding]:
    """The labels of a target column without missing cells."""
    if options.task == "regression":
        return _scaled(_real_labels(target), target.name, options)
    classes, codes = category_codes(target)
    if len(classes) < 2:
        raise DataError(f"target {target.name!r} must have at least two classes; got only {classes[0]!r}")
    if options.task == "multiclass":
        _check_class_count(target, classes)
        return codes, LabelEncoding(target.name, "multiclass", classes)
    positive = _positive_class(target.name, classes, options.positive)
    labels = (codes == classes.index(positive)).astype(np.int64)
    return labels, LabelEncoding(target.name, "binary", classes, positive)


def _scaled(labels: AnyArray, name: str, options: EncodingOptions) -> tuple[AnyArray, LabelEncoding]:
    if options.target_scaling == "none":
        return labels, LabelEncoding(name, "regression")
    offset, scale = float(labels.mean()), float(labels.std()) or 1.0
    return (labels - offset) / scale, LabelEncoding(name, "regression", offset=offset, scale=scale)


def _real_labels(target: RawColumn) -> AnyArray:
    if target.is_text:
        raise DataError(
            f"target {target.name!r} must hold numbers for a regression; got texts such as "
            f'{target.values[0]!r}. Set task = "binary" or "multiclass"'
        )
    labels = target.values.astype(np.float64)
    if not np.all(np.isfinite(labels)):
        raise DataError(f"target {target.name!r} must hold finite numbers; got {int(np.isinf(labels).sum())} infinite")
    return labels


def _check_class_count(target: RawColumn, classes: tuple[str, ...]) -> None:
    is_real = target.values.dtype.kind == "f" and not np.all(target.values == np.rint(target.values))
    if is_real or len(classes) > MAX_CLASSES:
        raise DataError(
            f"target {target.name!r} must have at most {MAX_CLASSES} classes; got {len(classes)} distinct values"
            + (' that are not whole numbers. Set task = "regression"' if is_real else '. Set task = "regression"?')
        )


def _positive_class(target: str, classes: tuple[str, ...], positive: str | int | float | None) -> str:
    if positive is not None:
        return _known_class("positive", positive, classes, target)
    if len(classes) > 2:
        raise DataError(
            f"target {target!r} must have two classes for a binary task; got {len(classes)}: {listed(classes)}. "
            f'Set positive = "{classes[-1]}" for that class against the rest, classes = ["{classes[0]}", '
            f'"{classes[-1]}"] for these two alone, or task = "multiclass"'
        )
    return classes[1]


def _known_class(key: str, value: str | int | float, classes: tuple[str, ...], target: str) -> str:
    name = cell_text(value)
    if name not in classes:
        hint = nearest(str(name), classes) if len(classes) <= MAX_CLASSES else ""
        raise DataError(
            f"{key} must be among the classes of target {target!r} ({listed(classes)}); got {value!r}{hint}"
        )
    return name
