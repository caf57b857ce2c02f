"""Which step visits which row, where every row is visited once: numbers that a search found, made whole.

The pairs that fit relaxed visits best are a start; then two rows change steps, as long as that leaves less of the
update unexplained by any small move of the rows. The residual alone decides.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.moving_arrays import still
from fedleak.attacks.networks.update_equations import Place, Search
from fedleak.core.arrays import FloatArray, IntArray


def whole_visits(visits: FloatArray, batch_size: int) -> FloatArray:
    """The nearest visits of which each step has a batch, and each row one step."""
    from scipy.optimize import linear_sum_assignment

    _, slots = linear_sum_assignment(-np.repeat(visits, batch_size, axis=0).T)
    return _visits(slots // batch_size, len(visits))


def ordered(search: Search, place: Place, most: int) -> Place:
    """From whole visits, over at most so many exchanges; ``search`` moves rows, or leaves them."""
    place = search.from_place(place)
    for _ in range(most):
        better = _exchanged(search, place)
        if better is None:
            break
        tried = search.from_place(Place(place.mixes, better))
        if not tried.misfit < place.misfit:
            break
        place = tried
    return place


def _exchanged(search: Search, place: Place) -> FloatArray | None:
    """The best exchange of two rows, None where none lowers what moves of the rows do not explain."""
    steps = place.visits.argmax(axis=0)
    pairs = [(one, other) for one in range(len(steps)) for other in range(one) if steps[one] != steps[other]]
    tried = [place.visits, *(_visits(_swapped(steps, *pair), len(place.visits)) for pair in pairs)]
    left = np.stack([search.left_over(still(place.mixes), still(visits)).value for visits in tried])
    if search.moving_rows:
        explained = np.linalg.qr(search.around(place).ways.T)[0]
        left = left - (left @ explained) @ explained.T
    best = int((left**2).sum(axis=1).argmin())
    return tried[best] if best else None


def _swapped(steps: IntArray, one: int, other: int) -> IntArray:
    found = steps.copy()
    found[[one, other]] = steps[[other, one]]
    return found


def _visits(steps: IntArray, n_steps: int) -> FloatArray:
    return np.asarray(np.arange(n_steps)[:, None] == steps[None], np.float64)
