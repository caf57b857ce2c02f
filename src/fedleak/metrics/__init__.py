"""Scores of a guess against the truth."""

from fedleak.core.adversary import SecretKind
from fedleak.core.registry import Entry, Registry
from fedleak.metrics.metric import Metric

METRICS: Registry[Metric] = Registry(
    "metric",
    [
        # Of labels, the first that has something to measure decides: two classes, more classes, one class.
        Entry("auc", "fedleak.metrics.label_metrics:AreaUnderCurve"),
        Entry("balanced-accuracy", "fedleak.metrics.label_metrics:BalancedAccuracy"),
        Entry("label-accuracy", "fedleak.metrics.label_metrics:LabelAccuracy"),
        Entry("precision-among-surest", "fedleak.metrics.label_metrics:PrecisionAmongSurest"),
        Entry("precision-among-surest-tenth", "fedleak.metrics.label_metrics:PrecisionAmongSurestTenth"),
        Entry("true-positive-rate-at-1-percent", "fedleak.metrics.label_metrics:TruePositivesAtFewFalse"),
        # Of pictures, the squared error decides: a share of exact pixels would call a blurred face none.
        Entry("mse", "fedleak.metrics.picture_metrics:PictureError"),
        Entry("psnr", "fedleak.metrics.picture_metrics:PooledPsnr"),
        Entry("psnr-each", "fedleak.metrics.picture_metrics:PsnrOfEach"),
        Entry("ssim", "fedleak.metrics.picture_metrics:StructuralSimilarity"),
        Entry("exact-pixels", "fedleak.metrics.picture_metrics:ExactPixels"),
        Entry("cells-recovered", "fedleak.metrics.cell_metrics:CellsRecovered"),
        Entry("mean-error", "fedleak.metrics.cell_metrics:MeanError"),
        Entry("mse-per-feature", "fedleak.metrics.cell_metrics:SquaredError"),
        Entry("interval-score", "fedleak.metrics.interval_score:IntervalScore"),
        Entry("interval-width", "fedleak.metrics.interval_score:IntervalWidth"),
        Entry("interval-coverage", "fedleak.metrics.interval_score:IntervalCoverage"),
        Entry("branching-rate", "fedleak.metrics.branching_rate:BranchingRate", ("cbr",)),
        Entry("error-by-own-correlation", "fedleak.metrics.error_by_correlation:ErrorByOwnCorrelation"),
        Entry("error-by-prediction-correlation", "fedleak.metrics.error_by_correlation:ErrorByPredictionCorrelation"),
    ],
)


def metrics_for(kind: SecretKind, first: str | None = None) -> list[Metric]:
    """The metrics of a kind of secret, the main one first; ``first`` names another than usual."""
    found = [metric() for metric in METRICS if kind in metric.applies_to]
    return sorted(found, key=lambda metric: metric.name != first) if first else found
