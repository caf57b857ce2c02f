"""Rows of a large batch of pictures by independent components: near, and nothing proves them.

That is as far as one gradient of a layer goes where no zeros of its errors are to be had (Cocktail Party, arXiv
2209.05578): an estimate. The bias scales a component, which leaves no sign and no brightness open. Where zeros gave
some rows, components are of what is left without them.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations
from fedleak.attacks.networks.component_errors import others
from fedleak.attacks.networks.hidden_rows import HiddenRows, weighed
from fedleak.attacks.networks.kinked_rows import KinkedRows, labelled
from fedleak.attacks.networks.picture_components import component_mixes
from fedleak.attacks.networks.sparse_errors import seen_errors
from fedleak.models.layers import Shape


def component_rows(
    equations: Equations, shape: Shape, rng: np.random.Generator, found: KinkedRows | None = None
) -> HiddenRows | None:
    """Confirmed rows of ``found`` first; pixels are cut to [0, 1]. None where there are fewer components than other
    rows. Labels are those whose own errors are the nearest."""
    factors, mixes, left = equations.factors, np.zeros((0, equations.factors.n_rows)), np.eye(equations.factors.n_rows)
    if found is not None and found.confirmed.any():
        seen, mixes = seen_errors(factors), found.hidden.mixes[found.confirmed]
        left = others(seen, found.hidden.errors[found.confirmed][:, seen.alive] @ seen.span.basis)
    mixes = np.concatenate([mixes, component_mixes(factors, shape, left, rng)])
    if len(mixes) < factors.n_rows:
        return None
    rows = np.clip(mixes @ factors.basis[:-1].T, 0.0, 1.0)
    errors = (factors.mixed @ np.linalg.pinv(mixes)).T * len(rows)
    return weighed(equations, labelled(equations.top, rows, errors)[0], rows)
