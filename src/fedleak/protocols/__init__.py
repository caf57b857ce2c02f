"""Federated protocols, in folders by what is trained or served; a file bears its protocol's name."""

from fedleak.core.registry import Registry
from fedleak.core.whole.protocol import Protocol

PROTOCOLS: Registry[Protocol] = Registry(
    "protocol",
    [
        "fedleak.protocols.linear.vertical_logistic:VerticalLogistic",
        "fedleak.protocols.averaging.horizontal_logistic:HorizontalLogistic",
        "fedleak.protocols.linear.vertical_arbiter:VerticalLogisticArbiter",
        "fedleak.protocols.linear.vertical_arbiter:VerticalLinearArbiter",
        "fedleak.protocols.averaging.horizontal_linear:HorizontalLinear",
        "fedleak.protocols.prediction.vertical_prediction:VerticalPrediction",
    ],
)
