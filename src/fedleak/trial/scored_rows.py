"""Of a secret of very many rows, those that a guess is scored on.

Luck is judged by many draws of whole tables: they take a hundred times the rows that they are about. So many rows tell
a share to within 0.3 points, and reports say that it is of them. Which rows are drawn has nothing to do with the run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.core.payload import Table
from fedleak.core.whole.truth import SecretValues, Served

MOST_ROWS = 100_000
SAMPLE_SEED = 21


def some_rows(values: SecretValues, served: Served | None) -> tuple[SecretValues, Served | None]:
    """The ranges stay those of all rows."""
    n_rows = len(values.ids)
    if n_rows <= MOST_ROWS or values.sampled:
        return values, served
    drawn = np.sort(np.random.default_rng(SAMPLE_SEED).choice(n_rows, MOST_ROWS, replace=False))
    sampled = f"{MOST_ROWS} of {n_rows} rows, drawn at random"
    found = replace(values, ids=values.ids[drawn], values=values.values[drawn], sampled=sampled)
    return found, None if served is None else _about(served, found)


def _about(served: Served, values: SecretValues) -> Served:
    """What came of these rows alone, where rows are what the secret is about."""
    if values.ids.ndim != 1 or not values.is_table:
        return served
    rows = np.isin(served.inputs.ids, values.ids)
    inputs = Table(served.inputs.columns, served.inputs.ids[rows], served.inputs.values[rows])
    return replace(served, inputs=inputs, confidences=served.confidences[rows])
