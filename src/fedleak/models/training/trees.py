"""Decision trees and forests, by scikit-learn with the paper's settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.models.forest import ForestModel
from fedleak.models.from_sklearn import from_sklearn
from fedleak.models.tree import TreeModel, TreeOutput

MIN_LEAF_ROWS = 5


def train_tree(
    rows: FloatArray,
    labels: AnyArray,
    columns: Sequence[str],
    *,
    depth: int,
    output: TreeOutput,
    rng: np.random.Generator,
) -> TreeModel:
    from sklearn.tree import DecisionTreeClassifier

    tree: Any = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=MIN_LEAF_ROWS, random_state=_seed(rng))
    model = from_sklearn(tree.fit(rows, labels), columns, output)
    assert isinstance(model, TreeModel)
    return model


def train_forest(
    rows: FloatArray,
    labels: AnyArray,
    columns: Sequence[str],
    *,
    n_trees: int,
    depth: int,
    output: TreeOutput,
    rng: np.random.Generator,
) -> ForestModel:
    from sklearn.ensemble import RandomForestClassifier

    forest: Any = RandomForestClassifier(n_estimators=n_trees, max_depth=depth, random_state=_seed(rng))
    model = from_sklearn(forest.fit(rows, labels), columns, output)
    assert isinstance(model, ForestModel)
    return model


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
