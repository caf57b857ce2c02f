"""What dishonest parties do, one behaviour a file."""

from fedleak.core.deviation import Deviation
from fedleak.core.registry import Registry

DEVIATIONS: Registry[Deviation] = Registry(
    "deviation",
    [
        "fedleak.deviations.packed_products:PackedProducts",
        "fedleak.deviations.claimed_columns:ClaimedColumns",
        "fedleak.deviations.fake_features:FakeFeatures",
    ],
)
