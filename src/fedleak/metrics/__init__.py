"""Scores of a guess against the truth, one metric a file."""

from fedleak.core.registry import Registry
from fedleak.core.secret import SecretKind
from fedleak.metrics.metric import Metric

METRICS: Registry[Metric] = Registry(
    "metric",
    [
        "fedleak.metrics.label_accuracy:LabelAccuracy",
        "fedleak.metrics.cells_recovered:CellsRecovered",
        "fedleak.metrics.mean_error:MeanError",
    ],
)


def metrics_for(kind: SecretKind) -> list[Metric]:
    """The metrics of a kind of secret, the main one first."""
    return [metric() for metric in METRICS if kind in metric.applies_to]
