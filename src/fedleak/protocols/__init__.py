"""Federated protocols, in folders by what is trained or served; a file bears its protocol's name."""

from functools import partial

from fedleak.core.attack import Reference
from fedleak.core.registry import Entry, Registry, faults_of
from fedleak.core.whole.protocol import Protocol

PROTOCOLS: Registry[Protocol] = Registry(
    "protocol",
    [
        Entry("vertical-logistic", "fedleak.protocols.linear.vertical_logistic:VerticalLogistic", ("vlr",)),
        Entry("horizontal-logistic", "fedleak.protocols.averaging.horizontal_logistic:HorizontalLogistic", ("hlr",)),
        Entry(
            "vertical-logistic-arbiter",
            "fedleak.protocols.linear.vertical_arbiter:VerticalLogisticArbiter",
            ("hetero-lr",),
        ),
        Entry(
            "vertical-linear-arbiter",
            "fedleak.protocols.linear.vertical_arbiter:VerticalLinearArbiter",
            ("hetero-linr",),
        ),
        Entry("horizontal-linear", "fedleak.protocols.averaging.horizontal_linear:HorizontalLinear", ("hlinr",)),
        Entry(
            "vertical-prediction",
            "fedleak.protocols.prediction.vertical_prediction:VerticalPrediction",
            ("prediction",),
        ),
    ],
    group="fedleak.protocols",
    faults=partial(
        faults_of,
        base=Protocol,
        needs={
            "name": str,
            "summary": str,
            "reference": Reference,
            "settings_type": type,
            "roles": frozenset,
            "named_steps": frozenset,
            "may_reveal": frozenset,
        },
    ),
)
