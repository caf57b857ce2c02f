"""Federated protocols, one a file."""

from fedleak.core.protocol import Protocol
from fedleak.core.registry import Registry

PROTOCOLS: Registry[Protocol] = Registry(
    "protocol",
    [
        "fedleak.protocols.vertical.logistic:VerticalLogistic",
        "fedleak.protocols.vertical.logistic_arbiter:VerticalLogisticArbiter",
        "fedleak.protocols.prediction.serving:VerticalPrediction",
    ],
)
