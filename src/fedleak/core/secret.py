"""What an adversary may be after, and up to which symmetry it can be had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class SecretKind(StrEnum):
    LABELS = "labels"
    FEATURES = "features"
    RESIDUALS = "residuals"  # per sample and round: model output minus label
    PARTIAL_SCORES = "partial-scores"  # per sample and round: a party's share of the linear score
    GRAM = "gram"  # inner products of the victim's rows (or columns)
    WEIGHTS = "weights"
    THRESHOLDS = "thresholds"  # split points of a victim's tree nodes
    RANGES = "ranges"  # intervals that contain the victim's values
    IMAGES = "images"
    COLUMN_PRODUCTS = "column-products"  # inner products of columns, and with the labels, over some parties' rows
    RECORDS = "records"  # whole rows with their labels, of one party or of several together


JOINT = "*"  # the owner of what no single party has, such as residuals


@dataclass(frozen=True)
class Secret:
    kind: SecretKind
    owner: str

    def __str__(self) -> str:
        return self.kind.value if self.owner == JOINT else f"{self.kind.value} of {self.owner}"


def together(owners: Iterable[str]) -> str:
    """The owner of what several parties hold and nobody can tell apart."""
    return "+".join(owners)


class Symmetry(StrEnum):
    """An ambiguity that no attack of a class can resolve; a metric aligns by it, and only by it."""

    GLOBAL_SIGN = "global sign"
    ROW_ORDER = "row order"
    ROTATION = "rotation"
