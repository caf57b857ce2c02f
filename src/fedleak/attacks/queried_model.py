"""An opaque model as an attack has it: a description, and an oracle to ask for confidences. Nothing else is there."""

from __future__ import annotations

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError, NotReplayableError, OracleError
from fedleak.core.payload import Array, ModelSpec
from fedleak.core.view import View
from fedleak.models.model import columns_of
from fedleak.models.opaque import NOT_STORED, SERVICE, OpaqueModel


def queried_model(view: View, spec: ModelSpec) -> OpaqueModel:
    """A model that asks the view's oracle; a view without one was stored without the object."""
    oracle = view.oracles.get(SERVICE)
    if oracle is None:
        raise NotReplayableError(NOT_STORED)
    n_classes = spec.config.get("n_classes")
    if not isinstance(n_classes, int):
        raise InputError(f"an opaque model's n_classes must be a whole number; got {n_classes!r}")

    def answer(rows: FloatArray) -> AnyArray:
        try:
            found = oracle.query(Array(rows)).messages[-1].payload
        except NotReplayableError as error:
            raise NotReplayableError(f"{NOT_STORED} ({error})") from error
        if not isinstance(found, Array):
            raise OracleError(f"oracle {SERVICE} must answer with an array; got {type(found).__name__}")
        return found.values

    return OpaqueModel(columns_of(spec.config), n_classes, answer, str(spec.config.get("about")))
