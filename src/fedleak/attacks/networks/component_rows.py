"""Rows of a large batch of pictures by independent components alone: near, and nothing proves them.

That is as far as one gradient of a layer goes where no zeros of its errors are to be had (Cocktail Party, arXiv
2209.05578): an estimate. The bias scales a component, which leaves no sign and no brightness open.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations
from fedleak.attacks.networks.hidden_rows import HiddenRows, weighed
from fedleak.attacks.networks.kinked_rows import labelled
from fedleak.attacks.networks.picture_components import component_mixes
from fedleak.models.layers import Shape


def component_rows(equations: Equations, shape: Shape, rng: np.random.Generator) -> HiddenRows | None:
    """None where there are fewer components than rows. Labels are those whose own errors are the nearest."""
    factors = equations.factors
    mixes = component_mixes(factors, shape, np.eye(factors.n_rows), rng)
    if len(mixes) < factors.n_rows:
        return None
    rows = np.clip(mixes @ factors.basis[:-1].T, 0.0, 1.0)
    errors = (factors.mixed @ np.linalg.pinv(mixes)).T * len(rows)
    return weighed(equations, labelled(equations.top, rows, errors)[0], rows)
