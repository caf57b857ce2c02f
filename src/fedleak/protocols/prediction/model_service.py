"""An opaque model is revealed as a service: the holder of the model may ask it about any rows."""

from __future__ import annotations

import numpy as np

from fedleak.core import steps
from fedleak.core.errors import InputError, OracleError
from fedleak.core.message import Message
from fedleak.core.oracle import Answer, OracleSpec, Service
from fedleak.core.payload import Array, Payload
from fedleak.models.opaque import SERVICE, OpaqueModel


def model_service(model: OpaqueModel, client: str) -> Service:
    width = len(model.columns)
    spec = OracleSpec(
        SERVICE,
        input=f"rows in the {width} columns of the model, as an array",
        answer=f"the confidences of {model.n_classes} classes for each row",
    )

    def serve(query: Payload) -> Answer:
        if not isinstance(query, Array) or query.values.ndim != 2 or query.values.shape[1] != width:
            raise OracleError(f"a query to {spec.name} must be rows of {width} numbers")
        try:
            confidences = model.confidences(np.asarray(query.values, dtype=np.float64))
        except InputError as error:  # on rows of the adversary's choice: its attack failed, not the audit
            raise OracleError(str(error)) from error
        message = Message(steps.CONFIDENCES.name, 0, steps.JOINT_COMPUTATION, client, Array(confidences))
        return Answer((message,))

    return Service(steps.JOINT_COMPUTATION, (client,), spec, serve)
