"""A user's own model, whatever library it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import UnreadableModelError
from fedleak.core.payload import ModelSpec
from fedleak.models.black_box import black_box, is_torch_module
from fedleak.models.interpret import interpret
from fedleak.models.model import Model
from fedleak.models.tree import TreeOutput


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
        return _read(model, columns, output)
    except UnreadableModelError as error:
        return black_box(model, columns, example, str(error))


def _read(model: object, columns: Sequence[str] | None, output: TreeOutput) -> Model:
    library = type(model).__module__.partition(".")[0]
    if library == "sklearn":
        from fedleak.models.from_sklearn import from_sklearn

        return from_sklearn(model, columns, output)
    if is_torch_module(model):
        from fedleak.models.from_torch import from_torch

        return from_torch(model, columns)
    raise UnreadableModelError(
        f"a model that is read must be of scikit-learn or a torch.nn.Sequential; got {type(model).__qualname__}"
    )
