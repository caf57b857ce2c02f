"""Federated protocols, one a file."""

from fedleak.core.protocol import Protocol
from fedleak.core.registry import Registry

PROTOCOLS: Registry[Protocol] = Registry(
    "protocol",
    [
        "fedleak.protocols.vertical.logistic:VerticalLogistic",
        "fedleak.protocols.horizontal.logistic:HorizontalLogistic",
        "fedleak.protocols.vertical.logistic_arbiter:VerticalLogisticArbiter",
        "fedleak.protocols.vertical.linear_arbiter:VerticalLinearArbiter",
        "fedleak.protocols.horizontal.linear:HorizontalLinear",
        "fedleak.protocols.prediction.serving:VerticalPrediction",
    ],
)
