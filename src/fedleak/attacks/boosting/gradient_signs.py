"""Labels by the signs of gradients: a gradient is p - y, negative where the row is of the class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import Scalar, Tree
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting


@dataclass(frozen=True, eq=False)
class SignsOfTree:
    """Rows by their place in the table, with the sign of each one's gradient."""

    rows: IntArray
    signs: IntArray
    score: int  # which class the tree is about, where there are several


def labels_of_signs(trees: Iterable[SignsOfTree], n_rows: int, n_classes: int) -> FloatArray:
    """Of two classes g < 0 says 1; of several, g < 0 in a tree of class k says k."""
    found = np.full(n_rows, np.nan)
    for tree in trees:
        found[tree.rows[tree.signs < 0]] = 1.0 if n_classes == 2 else float(tree.score)
        if n_classes == 2:
            found[tree.rows[tree.signs > 0]] = 0.0
    return found


def score_of_tree(view: View, number: int) -> int:
    """Which of several scores the tree adds to."""
    for message in view.at(boosting.TREE):
        held = message.payload.items.get("score") if isinstance(message.payload, Tree) else None
        if message.round == number and isinstance(held, Scalar) and isinstance(held.value, int):
            return held.value
    return 0
