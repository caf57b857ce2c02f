"""What every model offers: named input columns, and a confidence for each class of each row."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import InputError, nearest_or_list
from fedleak.core.payload import ModelSpec, ScalarValue

FORMAT_VERSION = 1


class Model(ABC):
    """``columns`` are the inputs in the order in which the parameters stand."""

    columns: tuple[str, ...]

    @property
    @abstractmethod
    def n_classes(self) -> int: ...

    @abstractmethod
    def confidences(self, rows: FloatArray) -> FloatArray:
        """One row of confidences for each row of inputs, which are in the order of ``columns``."""

    @abstractmethod
    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> Model:
        """The model of x that equals this one of (x - shift) / scale, scale above 0: it takes unscaled inputs."""

    @abstractmethod
    def to_spec(self) -> ModelSpec: ...

    def positions(self, names: Sequence[str]) -> IntArray:
        """Where these columns stand among the model's inputs: names decide, never the order."""
        place = {name: index for index, name in enumerate(self.columns)}
        for name in names:
            if name not in place:
                raise InputError(
                    f"column {name!r} must be one of the model's inputs{nearest_or_list(name, self.columns)}"
                )
        return np.array([place[name] for name in names], dtype=np.int64)

    def arrange(self, rows: FloatArray, names: Sequence[str]) -> FloatArray:
        """Rows in some column order, put into the model's."""
        return arranged(rows, names, self.columns)


def arranged(rows: FloatArray, names: Sequence[str], inputs: Sequence[str]) -> FloatArray:
    """Rows whose columns have these names, in the order of a model's inputs."""
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InputError(f"rows must have {len(names)} columns, one a name; got shape {rows.shape}")
    missing = [name for name in inputs if name not in set(names)]
    if missing:
        raise InputError(f"rows must have the model's input {missing[0]!r}{nearest_or_list(missing[0], names)}")
    if len(set(names)) != len(names) or len(names) != len(inputs):
        raise InputError(f"rows must have each of the model's {len(inputs)} inputs once; got {len(names)}")
    if tuple(names) == tuple(inputs):
        return np.asarray(rows, dtype=np.float64)
    place = {name: index for index, name in enumerate(names)}
    return np.asarray(rows[:, [place[name] for name in inputs]], dtype=np.float64)


def checked_columns(columns: Sequence[str], n_inputs: int) -> tuple[str, ...]:
    found = tuple(str(name) for name in columns)
    if len(found) != n_inputs:
        raise InputError(f"columns must name the model's {n_inputs} inputs; got {len(found)}")
    if len(set(found)) != len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise InputError(f"columns must differ; got {twice!r} twice")
    return found


def columns_text(columns: Sequence[str]) -> str:
    """Column names as one text, for a spec's configuration."""
    return json.dumps(list(columns), ensure_ascii=False)


def columns_of(config: Mapping[str, ScalarValue]) -> tuple[str, ...]:
    try:
        found = json.loads(str(config.get("columns", "")))
    except (ValueError, RecursionError) as error:
        raise InputError(f"a model's columns must be a JSON list of names; got {config.get('columns')!r}") from error
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise InputError(f"a model's columns must be a JSON list of names; got {found!r}")
    return tuple(found)
