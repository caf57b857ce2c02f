"""Scores of a guess against the truth."""

from fedleak.core.adversary import SecretKind
from fedleak.core.registry import Registry
from fedleak.metrics.metric import Metric

METRICS: Registry[Metric] = Registry(
    "metric",
    [
        "fedleak.metrics.cell_metrics:LabelAccuracy",
        "fedleak.metrics.cell_metrics:CellsRecovered",
        "fedleak.metrics.cell_metrics:MeanError",
        "fedleak.metrics.cell_metrics:SquaredError",
        "fedleak.metrics.interval_score:IntervalScore",
        "fedleak.metrics.branching_rate:BranchingRate",
        "fedleak.metrics.error_by_correlation:ErrorByOwnCorrelation",
        "fedleak.metrics.error_by_correlation:ErrorByPredictionCorrelation",
    ],
)


def metrics_for(kind: SecretKind, first: str | None = None) -> list[Metric]:
    """The metrics of a kind of secret, the main one first; ``first`` names another than usual."""
    found = [metric() for metric in METRICS if kind in metric.applies_to]
    return sorted(found, key=lambda metric: metric.name != first) if first else found
