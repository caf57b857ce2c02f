"""A user's own model, whatever library it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec
from fedleak.models.interpret import interpret
from fedleak.models.model import Model
from fedleak.models.tree import TreeOutput


def convert(model: object, columns: Sequence[str] | None = None, *, output: TreeOutput = TreeOutput.FRACTIONS) -> Model:
    """A scikit-learn estimator, a torch module, a ``ModelSpec`` or a model of ours, as a model of ours.

    ``columns`` names the inputs; a scikit-learn estimator that was fitted on a data frame knows them. ``output`` says
    which confidences trees are served with: scikit-learn's own fractions, or one-hot votes as in Luo et al. 2021.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, ModelSpec):
        return interpret(model)
    library = type(model).__module__.partition(".")[0]
    if library == "sklearn":
        from fedleak.models.from_sklearn import from_sklearn

        return from_sklearn(model, columns, output)
    if _is_torch_module(model):
        from fedleak.models.from_torch import from_torch

        return from_torch(model, columns)
    raise InputError(
        "a model must be a scikit-learn estimator, a torch.nn.Sequential, a ModelSpec or a fedleak model; "
        f"got {type(model).__module__}.{type(model).__qualname__}"
    )


def _is_torch_module(model: object) -> bool:
    return any(base.__module__.startswith("torch.nn") for base in type(model).__mro__)
