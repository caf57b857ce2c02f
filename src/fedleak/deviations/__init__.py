"""Deviations, what dishonest parties do."""

from fedleak.core.registry import Entry, Registry
from fedleak.core.whole.hooks import Deviation

DEVIATIONS: Registry[Deviation] = Registry(
    "deviation",
    [
        Entry("packed-products", "fedleak.deviations.packed_products:PackedProducts", ("algorithm-2",)),
        Entry("claimed-columns", "fedleak.deviations.extra_columns:ClaimedColumns"),
        Entry("fake-features", "fedleak.deviations.extra_columns:FakeFeatures"),
    ],
)
