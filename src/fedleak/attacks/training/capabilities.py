"""What attacks that follow a party through the training of a two-class linear model need."""

from __future__ import annotations

from fedleak.core.capability import Capability

OWN_TRAINING = frozenset(
    {
        Capability.OWN_FEATURES,
        Capability.OWN_WEIGHTS,
        Capability.OWN_GRADIENT,
        Capability.BATCH_IDS,
        Capability.TWO_CLASSES,
    }
)
