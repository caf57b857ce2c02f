"""Rows to parties so that each sees the classes in other proportions.

For every class the parties' shares are drawn from a symmetric Dirichlet distribution, as in Yurochkin et al. 2019,
"Bayesian nonparametric federated learning of neural networks", section 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import DataError
from fedleak.core.settings import setting
from fedleak.data.partition.rows import Rows, class_labels
from fedleak.data.partition.shares import checked_parties

N_DRAWS = 1000


@dataclass(frozen=True)
class ByLabelSkew:
    """Dirichlet label skew."""

    parties: tuple[str, ...] = setting(MISSING, "the parties' names")
    concentration: float = setting(
        0.5, "the Dirichlet parameter: 0.1 gives most of a class to one party, 100 gives nearly equal shares"
    )
    min_rows: int = setting(
        1, "the least number of rows of a party; the draw is repeated until all have it", unit="rows"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "parties", checked_parties(self.parties))
        if not (self.concentration > 0 and math.isfinite(self.concentration)):
            raise DataError(f"concentration must be above 0 and finite; got {self.concentration}")
        if self.min_rows < 1:
            raise DataError(f"min_rows must be at least 1; got {self.min_rows}")

    def assign(self, rows: Rows, rng: np.random.Generator) -> Mapping[str, IntArray]:
        labels = class_labels(rows, "label skew")
        if self.min_rows * len(self.parties) > len(labels):
            raise DataError(
                f"min_rows must leave rows for all; got {self.min_rows} for each of {len(self.parties)} parties "
                f"and {len(labels)} rows"
            )
        for _ in range(N_DRAWS):
            owner = self._drawn_owners(labels, rng)
            if np.bincount(owner, minlength=len(self.parties)).min() >= self.min_rows:
                return {party: np.flatnonzero(owner == i) for i, party in enumerate(self.parties)}
        raise DataError(
            f"concentration must let every party have {self.min_rows} rows; {N_DRAWS} draws with "
            f"{self.concentration:g} did not. Raise it, or lower min_rows or the number of parties"
        )

    def _drawn_owners(self, labels: AnyArray, rng: np.random.Generator) -> IntArray:
        """The party of each row, as its position among the parties."""
        owner = np.zeros(len(labels), dtype=np.int64)
        for label in np.unique(labels):
            members = rng.permutation(np.flatnonzero(labels == label))
            shares = rng.dirichlet(np.full(len(self.parties), self.concentration))
            stops = np.rint(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
            for party, block in enumerate(np.split(members, stops)):
                owner[block] = party
        return owner
