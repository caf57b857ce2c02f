"""The check before a collaboration (Luo et al. 2021, section VII, pre-processing).

Two conditions that make attacks strong: no more unknown columns than equations (classes less one), and columns that
correlate with the partner's. In the first case no prediction is released, since every one would give all cells away; in
the second the party leaves the correlated columns out. Ours: columns that move in steps count by their bits, since one
equation fixes many of them (equality-grid).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, ModelSpec
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense, Hook, HookKind, LocalState
from fedleak.data.column_encoding import regular_step
from fedleak.defenses.coarse_confidences import at_confidences
from fedleak.metrics.error_by_correlation import mean_absolute_correlation
from fedleak.protocols.prediction import vocabulary as prediction


@dataclass(frozen=True, eq=False)
class ColumnRisk:
    """One column of a passive party: its mean absolute correlation with the other parties' columns (eq. 16)."""

    party: str
    column: str
    correlation: float


@dataclass(frozen=True)
class CollaborationCheck(Defense):
    name = "collaboration-check"
    summary = "before collaborating: compares classes with columns, blanks columns that correlate with others"
    reference = Reference("luo2021", "section VII, pre-processing")
    acts_at = frozenset({steps.OWN_DATA, prediction.CONFIDENCES})

    bits: float = setting(
        53.0, "what one equation may tell of columns that move in steps; 0 counts them as continuous", unit="bits"
    )
    max_correlation: float = setting(
        0.3, "columns with a larger mean absolute correlation are blanked", unit="0 to 1", tells_less="fewer"
    )

    def __post_init__(self) -> None:
        if not 0 < self.max_correlation <= 1:
            raise InputError(f"max_correlation must be above 0 and at most 1; got {self.max_correlation}")
        if not 0 <= self.bits <= 53:
            raise InputError(f"bits must be from 0 to the 53 of a double-precision number; got {self.bits}")

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(prediction.PredictionFacts, collaboration_check=self.max_correlation)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        blanked: dict[str, list[int]] = {}
        for risk in column_risks(federation):
            if risk.correlation > self.max_correlation:
                position = federation.party(risk.party).columns.index(risk.column)
                blanked.setdefault(risk.party, []).append(position)
        constant = 0.5 if getattr(federation.settings, "unit_box", False) else 0.0
        inputs = tuple(
            Hook(steps.OWN_DATA, HookKind.INPUT, party, _blank(columns, constant)) for party, columns in blanked.items()
        )
        return inputs + at_confidences(_withhold_if_exact(self._equations_to_fix(federation, blanked)))

    def _equations_to_fix(self, federation: Federation, blanked: dict[str, list[int]]) -> float:
        """The passive parties' columns that take part: one equation each, or the share of one that their bits need.

        Keeping some out leaves fewer for as many equations.
        """
        n_continuous, total = 0, 0.0
        for party in federation.with_role(Role.PASSIVE):
            for column in np.delete(party.train.features, blanked.get(party.name, []), axis=1).T:
                span = float(np.ptp(column)) if len(column) else 0.0
                step = regular_step(column) if self.bits else None
                if step is not None:
                    total += log2(span / step.step + 1.0)
                elif span > 0 or not self.bits:  # a constant holds nothing; the paper counts it all the same
                    n_continuous += 1
        return n_continuous + (total / self.bits if self.bits else 0.0)


def column_risks(federation: Federation) -> tuple[ColumnRisk, ...]:
    """Eq. 16 for every column of every passive party, against all columns of the others."""
    found = []
    for party in federation.with_role(Role.PASSIVE):
        others = [other.train.features for other in federation.parties if other.name != party.name and other.columns]
        if not others or not len(party.train.ids):
            continue
        correlations = mean_absolute_correlation(np.hstack(others), party.train.features)
        found += [ColumnRisk(party.name, c, float(r)) for c, r in zip(party.columns, correlations, strict=True)]
    return tuple(found)


def _blank(columns: list[int], constant: float) -> Any:
    """By a constant that everybody knows: the column's mean could be solved for, like any value."""

    def act(value: np.ndarray, _local: LocalState, _rng: np.random.Generator) -> np.ndarray:
        changed = value.copy()
        changed[:, columns] = constant
        return changed

    return act


def _withhold_if_exact(n_needed: float) -> Any:
    """Withholds everything where the active party's equations would determine the rest (d_target <= c - 1)."""

    def act(value: Array, local: LocalState, _rng: np.random.Generator) -> Array:
        model = local.latest(prediction.SERVED_MODEL)
        assert isinstance(model, ModelSpec)
        exact = model.kind == "linear" and 0 < n_needed <= value.values.shape[1] - 1
        return Array(np.full(value.values.shape, np.nan)) if exact else value

    return act
