"""Deviations, what dishonest parties do."""

from fedleak.core.registry import Registry
from fedleak.core.whole.hooks import Deviation

DEVIATIONS: Registry[Deviation] = Registry(
    "deviation",
    [
        "fedleak.deviations.packed_products:PackedProducts",
        "fedleak.deviations.extra_columns:ClaimedColumns",
        "fedleak.deviations.extra_columns:FakeFeatures",
    ],
)
