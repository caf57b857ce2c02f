"""The paper's own figures, as printed: Li et al.'s, measured on FATE and PySyft with their solver."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class VerticalCase:
    """A row of table 2 or 3; ``kdr`` is the known data ratio."""

    dataset: str
    attacker_features: int
    victim_features: int
    fake_features: int
    samples: int
    seconds: float
    relative_error: float
    kdr: float


@dataclass(frozen=True)
class HorizontalCase:
    """A row of table 4."""

    dataset: str
    features: int
    victim_samples: int
    attacker_samples: int
    seconds: float
    relative_error: float
    kdr: float


TABLE2 = (  # linear regression
    VerticalCase("motor-temperature", 9, 2, 0, 9, 0.015, 4.3e-4, 0.0),
    VerticalCase("motor-temperature", 7, 4, 0, 7, 0.14, 8.2e-5, 0.107),
    VerticalCase("motor-temperature", 6, 5, 2, 8, 0.312, 2.3e-3, 0.15),
    VerticalCase("motor-temperature", 4, 7, 3, 7, 0.781, 2.2e-4, 0.306),
    VerticalCase("red-wine", 8, 3, 0, 8, 0.063, 3.6e-6, 0.041),
    VerticalCase("red-wine", 6, 5, 3, 9, 0.282, 4.2e-4, 0.133),
    VerticalCase("red-wine", 5, 6, 2, 7, 0.532, 3.1e-3, 0.238),
    VerticalCase("residential-building", 101, 6, 3, 76, 0.704, 1.9e-4, 0.022),
    VerticalCase("residential-building", 72, 35, 0, 67, 593.812, 1.8e-6, 0.239),
    VerticalCase("residential-building", 55, 52, 0, 55, 2541.02, 8.3e-5, 0.446),
)
TABLE3 = (  # logistic regression
    VerticalCase("breast-cancer", 27, 3, 0, 27, 0.062, 2.4e-4, 0.012),
    VerticalCase("breast-cancer", 20, 10, 0, 20, 3.187, 8.4e-5, 0.18),
    VerticalCase("breast-cancer", 20, 10, 3, 23, 3.344, 2.9e-4, 0.157),
    VerticalCase("breast-cancer", 16, 14, 0, 16, 10.891, 1.6e-3, 0.348),
    VerticalCase("breast-cancer", 14, 16, 3, 17, 17.125, 8.4e-4, 0.386),
    VerticalCase("iris", 3, 1, 3, 6, 0.015, 1.6e-12, 0.0),
    VerticalCase("iris", 3, 1, 0, 3, 0.015, 4.7e-14, 0.0),
    VerticalCase("iris", 2, 2, 0, 2, 0.016, 2e-4, 0.0),
    VerticalCase("iris", 2, 2, 1, 3, 0.016, 5.2e-5, 0.0),
    VerticalCase("iris", 1, 3, 2, 3, 0.047, 3.5e-5, 0.111),
    VerticalCase("residential-building", 103, 4, 1, 76, 0.219, 2.7e-4, 0.01),
    VerticalCase("residential-building", 97, 10, 0, 69, 3.922, 5.7e-4, 0.052),
    VerticalCase("residential-building", 92, 15, 0, 67, 16.281, 1.9e-4, 0.091),
)
TABLE4 = (  # horizontal linear regression
    HorizontalCase("fish", 5, 5, 27, 0.219, 2.8e-10, 0.40),
    HorizontalCase("motor-temperature", 11, 11, 60, 1.548, 1.4e-9, 0.454),
    HorizontalCase("red-wine", 11, 4, 120, 0.516, 5.2e-12, 0.136),
    HorizontalCase("house", 6, 3, 24, 0.171, 1.0e-12, 0.166),
)
MULTI_PARTY_ERROR = 1e-10  # "all under 10^-10", of figures 9 and 10; their running times are not printed


@dataclass(frozen=True)
class BoostedCase:
    """A row of table 5, or of table 6, which repeats its data sets with other precisions and 401 records a query."""

    dataset: str
    victim_features: int
    attacker_features: int
    low: float
    high: float
    subtrees: int
    victim_nodes: int
    queries: int
    epsilon: float
    records: int  # a query
    seconds: float


VEHICLE = BoostedCase("vehicle", 9, 9, -1, 1, 20, 102, 306, 1e-7, 401, 19311)
IRIS = BoostedCase("iris", 2, 2, 0, 10, 15, 15, 30, 1e-2, 401, 1857)
BREAST = BoostedCase("breast-cancer", 20, 10, -10, 10, 5, 15, 60, 1e-6, 201, 1896)
TABLE5 = (VEHICLE, IRIS, BREAST)
TABLE6 = tuple(
    replace(case, epsilon=epsilon, queries=queries, records=401, seconds=seconds)
    for case, epsilon, queries, seconds in (
        (VEHICLE, 1e-2, 102, 6435),
        (VEHICLE, 1e-4, 204, 12873),
        (VEHICLE, 1e-6, 306, 19311),
        (IRIS, 1e-1, 15, 928),
        (IRIS, 1e-4, 30, 1857),
        (IRIS, 1e-6, 45, 2786),
        (BREAST, 1e-1, 15, 473),
        (BREAST, 1e-3, 30, 945),
        (BREAST, 1e-6, 45, 1420),
    )
)
