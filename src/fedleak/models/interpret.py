"""From a ``ModelSpec`` or a file, perhaps a stranger's, to a model that can be run.

A file is an .npz archive of the spec's arrays with a JSON header: no pickle, bounded sizes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.errors import FileFormatError, InputError, UnreadableModelError
from fedleak.core.payload import ARRAY_KINDS, ModelSpec, ScalarValue
from fedleak.models import boosted_model, layered, opaque, score_models, tree_models
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.boosting.losses import Objective
from fedleak.models.model import FORMAT_VERSION, Model, columns_of
from fedleak.models.opaque import OpaqueModel
from fedleak.models.score_models import LinearModel, Link, NetworkModel
from fedleak.models.tree_models import ForestModel, TreeModel, TreeOutput
from fedleak.schema import strict_json
from fedleak.schema.strict_json import Malformed
from fedleak.storage.file_writing import written_whole
from fedleak.storage.npz_archive import read_archive

MAX_LAYERS = 100
ChoiceT = TypeVar("ChoiceT", bound=StrEnum)


def interpret(spec: ModelSpec) -> Model:
    """The model that a spec describes; an error in one line where it is not one."""
    readers: Mapping[str, Callable[[ModelSpec], Model]] = {
        score_models.LINEAR_KIND: _linear,
        tree_models.TREE_KIND: _tree,
        tree_models.FOREST_KIND: _forest,
        score_models.NETWORK_KIND: _network,
        boosted_model.BOOSTED_KIND: _boosted,
        layered.LAYERED_KIND: layered.layered_of,
    }
    if spec.kind == opaque.KIND:
        raise UnreadableModelError(opaque.NOT_STORED)
    if spec.kind not in readers:
        raise InputError(f"a model's kind must be one of {', '.join(readers)}; got {spec.kind!r}")
    if spec.config.get("version") != FORMAT_VERSION:
        raise InputError(f"a model's version must be {FORMAT_VERSION}; got {spec.config.get('version')!r}")
    return readers[spec.kind](spec)


def _linear(spec: ModelSpec) -> LinearModel:
    return LinearModel(
        columns_of(spec.config), _floats(spec, "weights"), _floats(spec, "bias"), _choice(spec, "link", Link)
    )


def _tree(spec: ModelSpec) -> TreeModel:
    return _tree_from(spec, slice(None))


def _forest(spec: ModelSpec) -> ForestModel:
    ends = np.cumsum(_integers(spec, "sizes"))
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    if not len(ends) or ends[-1] != len(_integers(spec, "left")):
        raise InputError("a forest's sizes must add up to its number of nodes")
    trees = tuple(_tree_from(spec, slice(int(start), int(end))) for start, end in zip(starts, ends, strict=True))
    return ForestModel(columns_of(spec.config), trees)


def _network(spec: ModelSpec) -> NetworkModel:
    n_layers = spec.config.get("n_layers")
    if not isinstance(n_layers, int) or not 1 <= n_layers <= MAX_LAYERS:
        raise InputError(f"a network's n_layers must be from 1 to {MAX_LAYERS}; got {n_layers!r}")
    return NetworkModel(
        columns_of(spec.config),
        tuple(_floats(spec, f"weights{i}") for i in range(n_layers)),
        tuple(_floats(spec, f"bias{i}") for i in range(n_layers)),
        _choice(spec, "link", Link),
    )


MAX_SCORES = 10_000


def _boosted(spec: ModelSpec) -> BoostedModel:
    n_scores, first = spec.config.get("n_scores"), spec.config.get("first_score")
    if not isinstance(n_scores, int) or not 1 <= n_scores <= MAX_SCORES or not isinstance(first, int | float):
        raise InputError(f"boosted trees must have n_scores from 1 to {MAX_SCORES} and a first_score; got {n_scores!r}")
    return BoostedModel(
        columns_of(spec.config),
        left=_integers(spec, "left"),
        right=_integers(spec, "right"),
        feature=_integers(spec, "feature"),
        threshold=_floats(spec, "threshold"),
        missing_left=_array(spec, "missing_left").astype(bool),
        weight=_floats(spec, "weight"),
        sizes=_integers(spec, "sizes"),
        score_of_tree=_integers(spec, "score_of_tree"),
        objective=_choice(spec, "objective", Objective),
        n_scores=n_scores,
        first_score=float(first),
    )


def _tree_from(spec: ModelSpec, nodes: slice) -> TreeModel:
    return TreeModel(
        columns_of(spec.config),
        _integers(spec, "left")[nodes],
        _integers(spec, "right")[nodes],
        _integers(spec, "feature")[nodes],
        _floats(spec, "threshold")[nodes],
        _floats(spec, "fractions")[nodes],
        _choice(spec, "output", TreeOutput),
        _integers(spec, tree_models.COUNTS)[nodes] if tree_models.COUNTS in spec.arrays else None,
    )


def _array(spec: ModelSpec, name: str) -> AnyArray:
    if name not in spec.arrays:
        raise InputError(f"a {spec.kind} model must have the array {name!r}; it has {sorted(spec.arrays)}")
    return spec.arrays[name]


def _floats(spec: ModelSpec, name: str) -> FloatArray:
    array = _array(spec, name)
    if array.dtype.kind not in "fiu":
        raise InputError(f"array {name!r} of a {spec.kind} model must hold numbers; got {array.dtype}")
    return array.astype(np.float64)


def _integers(spec: ModelSpec, name: str) -> IntArray:
    array = _array(spec, name)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(f"array {name!r} of a {spec.kind} model must be a list of whole numbers; got {array.dtype}")
    return array.astype(np.int64)


def _choice(spec: ModelSpec, key: str, choices: type[ChoiceT]) -> ChoiceT:
    value = spec.config.get(key)
    if value not in [choice.value for choice in choices]:
        raise InputError(f"{key} of a {spec.kind} model must be one of {', '.join(choices)}; got {value!r}")
    return choices(str(value))


HEADER = "header"
MAX_FILE_BYTES = 1 << 30
MAX_HEADER_BYTES = 1 << 20


def save_model(model: Model, path: Path) -> None:
    """Write the model to a file, of any ending; the file appears whole or not at all."""
    if isinstance(model, OpaqueModel):
        raise UnreadableModelError(
            f"{model.about} cannot be written to a file: {model.why}. Audit the object with fedleak.adapters.own_model"
        )
    spec = model.to_spec()
    header = json.dumps({"kind": spec.kind, "config": dict(spec.config)}, ensure_ascii=False).encode()
    arrays: dict[str, AnyArray] = {HEADER: np.frombuffer(header, dtype=np.uint8), **spec.arrays}
    with written_whole(path) as temporary, temporary.open("wb") as file:  # a name would be given the ending .npz
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_model(path: Path) -> Model:
    """Read a model that ``save_model`` wrote; every defect is one line that names the file."""
    arrays = read_archive(path, MAX_FILE_BYTES)
    try:
        kind, config = _header(arrays.pop(HEADER, None))
        for name, array in arrays.items():
            if array.dtype.kind not in ARRAY_KINDS:
                raise InputError(f"array {name!r} must hold numbers; got {array.dtype}")
        return interpret(ModelSpec(kind, config, arrays))
    except UnreadableModelError:
        raise
    except (InputError, ValueError, OverflowError) as error:  # of arrays that do not fit together
        raise FileFormatError(f"{path}: {error}") from error


def _header(array: AnyArray | None) -> tuple[str, dict[str, ScalarValue]]:
    if array is None or array.nbytes > MAX_HEADER_BYTES:
        raise InputError(f"a model must have a JSON header of at most {MAX_HEADER_BYTES:,} bytes")
    try:
        header = strict_json.parse(array.tobytes())
    except Malformed as error:
        raise InputError(f"a model must have a JSON header with kind and config; got: {error}") from error
    kind, config = (header.get(name) if isinstance(header, dict) else None for name in ("kind", "config"))
    if not isinstance(kind, str) or not isinstance(config, dict) or not all(map(_is_scalar, config.values())):
        raise InputError("a model's header must hold a kind, and a config of texts and numbers")
    return kind, config


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
