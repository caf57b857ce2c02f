"""A user's own model, whatever library it comes from: read where its kind is known, asked where it is not.

Any object that gives confidences can be asked: estimators with predict_proba, torch modules, functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError, UnreadableModelError
from fedleak.core.payload import ModelSpec
from fedleak.models.interpret import interpret
from fedleak.models.model import Model
from fedleak.models.opaque import SUM_TOLERANCE, OpaqueModel, asked
from fedleak.models.tree_models import TreeOutput

if TYPE_CHECKING:
    import pandas as pd


def convert(
    model: object,
    columns: Sequence[str] | None = None,
    *,
    output: TreeOutput = TreeOutput.FRACTIONS,
    example: FloatArray | None = None,
) -> Model:
    """A user's model as a model of ours: read where its kind is known, an ``OpaqueModel`` that can be asked otherwise.

    It may be a scikit-learn estimator, anything else with ``predict_proba``, a torch module, a function from rows to
    confidences, a ``ModelSpec`` or a model of ours. ``columns`` names the inputs; an estimator that was fitted on a
    data frame knows them. ``output`` says which confidences trees are served with: scikit-learn's own fractions, or
    one-hot votes as in Luo et al. 2021. ``example`` are rows, in the order of the names, to try an opaque model on.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, ModelSpec):
        return interpret(model)
    try:
        return _read_by_library(model, columns, output)
    except UnreadableModelError as error:
        return black_box(model, columns, example, str(error))


def _read_by_library(model: object, columns: Sequence[str] | None, output: TreeOutput) -> Model:
    library = type(model).__module__.partition(".")[0]
    if library == "sklearn":
        from fedleak.models.library_models import from_sklearn

        return from_sklearn(model, columns, output)
    if library == "xgboost":
        from fedleak.models.xgboost_model import from_booster

        return from_booster(model, columns)
    if is_torch_module(model):
        from fedleak.models.library_models import from_torch

        return from_torch(model, columns)
    raise UnreadableModelError(
        f"a model that is read must be of scikit-learn, XGBoost or torch.nn.Sequential; got {type(model).__qualname__}"
    )


CHUNK_ROWS = 8192
N_TRIED = 50
Answer = Callable[[FloatArray], AnyArray]


def black_box(model: object, columns: Sequence[str] | None, example: FloatArray | None, why: str) -> OpaqueModel:
    """The object as a model that can be asked. ``example`` are rows to try it on, random ones from the unit box by
    default; ``why`` says why it was not read instead."""
    about = type(model).__qualname__ if not hasattr(model, "__qualname__") else str(model.__qualname__)
    answer = _answer_of(model, about)
    names = _input_names(model, columns, about)
    rows = _unit_rows(len(names)) if example is None else np.asarray(example, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InputError(f"rows must have the {len(names)} columns of {about}; got shape {rows.shape}")
    first = asked(answer, rows, about)
    if is_torch_module(model):
        answer, first = _with_link(answer, first, about)
    opaque = OpaqueModel(names, _n_classes(first, about), answer, about, why)
    opaque.confidences(rows)  # what is wrong with it is told now, before anything runs
    return opaque


def _unit_rows(width: int) -> FloatArray:
    """Always the same ones: what is decided on them does not change from call to call."""
    return np.random.default_rng(0).random((N_TRIED, width))


def is_torch_module(model: object) -> bool:
    return any(base.__module__.startswith("torch.nn") for base in type(model).__mro__)


def _answer_of(model: Any, about: str) -> Answer:
    if isinstance(model, type):
        raise InputError(f"a model must be fitted; got the class {about} itself")
    if is_torch_module(model):
        return lambda rows: _through_torch(model, rows)
    if hasattr(model, "predict_proba"):
        return lambda rows: np.asarray(model.predict_proba(_with_fitted_names(model, rows)))
    if callable(model):
        return lambda rows: np.asarray(model(rows))
    remedy = "; fit it in a CalibratedClassifierCV, which has" if hasattr(model, "predict") else ""
    raise InputError(
        "a model must have predict_proba, be a torch module or a function from rows to confidences, or be one of ours; "
        f"got {type(model).__module__}.{about}{remedy}"
    )


def of_frame(model: Any, frame: pd.DataFrame) -> AnyArray:
    """The confidences of a model that takes the frame itself."""
    return np.asarray(model.predict_proba(frame) if hasattr(model, "predict_proba") else model(frame))


def _input_names(model: object, columns: Sequence[str] | None, about: str) -> tuple[str, ...]:
    width = getattr(model, "n_features_in_", None)
    if columns is None:
        columns = [str(name) for name in getattr(model, "feature_names_in_", ())]
        columns = columns or [f"x{i}" for i in range(int(width or 0))]
    if not columns:
        raise InputError(f"columns must name the inputs of {about}; it does not know them itself (is it fitted?)")
    if width is not None and int(width) != len(columns):
        raise InputError(f"columns must name the {width} inputs of {about}; got {len(columns)}")
    return tuple(str(name) for name in columns)


def _with_fitted_names(model: object, rows: FloatArray) -> Any:
    """An estimator that was fitted on a data frame wants its names again."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names))


def _through_torch(module: Any, rows: FloatArray) -> FloatArray:
    """As at prediction: no dropout, no gradient; the module is left in the mode in which it was."""
    import torch

    parameter = next(module.parameters(), None)
    kind = {} if parameter is None else {"dtype": parameter.dtype, "device": parameter.device}
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            parts = [
                module(torch.tensor(rows[start : start + CHUNK_ROWS], **(kind or {"dtype": torch.float32})))
                for start in range(0, len(rows), CHUNK_ROWS)
            ]
    finally:
        for part, mode in modes:
            part.training = mode
    return np.concatenate([part.detach().cpu().double().numpy() for part in parts])


def _with_link(answer: Answer, first: FloatArray, about: str) -> tuple[Answer, FloatArray]:
    """A module's outputs are confidences, or scores before the last link: decided once, on the rows it is tried on."""
    from scipy.special import expit, softmax

    inside = bool((first >= 0).all() and (first <= 1).all())
    one_output = first.ndim == 1 or first.shape[1] == 1
    if not np.isfinite(first).all() or first.ndim not in (1, 2):
        return answer, first  # the checks of every answer say what is wrong
    if inside and (one_output or np.abs(first.sum(axis=1) - 1.0).max(initial=0.0) <= SUM_TOLERANCE):
        return answer, first
    if inside:
        raise InputError(
            f"outputs of {about} must be confidences that sum to 1, or scores; got values between 0 and 1 that sum to "
            f"{first.sum(axis=1)[0]:.4g}. Put a softmax at its end"
        )
    link: Answer = expit if one_output else lambda scores: np.asarray(softmax(scores, axis=1))
    return lambda rows: link(np.asarray(answer(rows), dtype=np.float64)), np.asarray(link(first))


def _n_classes(first: FloatArray, about: str) -> int:
    if first.ndim not in (1, 2):
        raise InputError(f"confidences of {about} must be a table, a row an input; got shape {first.shape}")
    return 2 if first.ndim == 1 or first.shape[1] == 1 else first.shape[1]
