"""Attacks, one a file, in folders by what is recovered."""

from fedleak.core.attack import Attack
from fedleak.core.registry import Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    [
        "fedleak.attacks.labels.residual_recovery:ResidualRecovery",
        "fedleak.attacks.labels.residual_sign:ResidualSign",
        "fedleak.attacks.labels.own_weights:OwnWeights",
    ],
)
