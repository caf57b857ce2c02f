"""Deviations, what dishonest parties do."""

from functools import partial

from fedleak.core.attack import Reference
from fedleak.core.registry import Entry, Registry, faults_of
from fedleak.core.whole.hooks import Deviation

DEVIATIONS: Registry[Deviation] = Registry(
    "deviation",
    [
        Entry("packed-products", "fedleak.deviations.packed_products:PackedProducts", ("algorithm-2",)),
        Entry("divided-senders", "fedleak.deviations.two_lists:DividedSenders"),
        Entry("reverse-sum", "fedleak.deviations.marked_rows:ReverseSum"),
        Entry("accelerated-steps", "fedleak.deviations.longer_steps:AcceleratedSteps", ("malicious-optimiser",)),
        Entry("claimed-columns", "fedleak.deviations.extra_columns:ClaimedColumns"),
        Entry("claimed-identifiers", "fedleak.deviations.named_strangers:ClaimedIdentifiers"),
        Entry("fake-features", "fedleak.deviations.extra_columns:FakeFeatures"),
    ],
    group="fedleak.deviations",
    faults=partial(
        faults_of, base=Deviation, needs={"name": str, "summary": str, "reference": Reference, "acts_at": frozenset}
    ),
)
