"""Training of our own models on a joint table, as Luo et al. 2021 do: no intermediate result is revealed to anybody."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError, MissingExtraError
from fedleak.models.library_models import from_sklearn, from_torch
from fedleak.models.score_models import LinearModel, Link, NetworkModel
from fedleak.models.tree_models import ForestModel, TreeModel, TreeOutput

MAX_ITERATIONS = 300
CONVERGED = 1e-10  # largest entry of the gradient
MAX_NEWTON_WEIGHTS = 1500  # a step solves a system of so many unknowns


def train_logistic(
    rows: FloatArray, labels: AnyArray, columns: Sequence[str], n_classes: int, *, l2: float, with_bias: bool
) -> LinearModel:
    """The minimum of the regularised likelihood; ``l2`` is the weight of ||theta||^2 / 2 per row.

    By Newton's steps, to the last digits. L-BFGS ended at its cap of steps on tables of many classes, and where it
    stood then differed by up to 9 % between processors that round differently.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    found = np.unique(labels)
    if len(found) != n_classes:
        raise InputError(f"training rows must show all {n_classes} classes; got {len(found)}. Use more rows")
    n_weights = rows.shape[1] * (n_classes if n_classes > 2 else 1)
    by: dict[str, Any] = (
        {"solver": "newton-cholesky", "tol": CONVERGED} if n_weights <= MAX_NEWTON_WEIGHTS else {"solver": "lbfgs"}
    )
    estimator = LogisticRegression(C=1.0 / (l2 * len(rows)), fit_intercept=with_bias, max_iter=MAX_ITERATIONS, **by)
    with warnings.catch_warnings():
        # A cap on the iterations is a choice of the training, not a defect of the model that is served.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(rows, labels)
    weights = np.asarray(estimator.coef_, dtype=np.float64)
    bias = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), (len(weights),)).copy()
    return LinearModel(tuple(columns), weights, bias, Link.SIGMOID if len(weights) == 1 else Link.SOFTMAX)


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


BATCH_ROWS = 64


def train_network(
    rows: FloatArray,
    labels: AnyArray,
    columns: Sequence[str],
    n_classes: int,
    *,
    hidden: Sequence[int],
    epochs: int,
    learning_rate: float,
    dropout: float,
    rng: np.random.Generator,
) -> NetworkModel:
    """Cross-entropy on mini-batches; dropout after each hidden layer while training."""
    torch = load_torch("training a network")
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        widths = (len(columns), *hidden)
        layers: list[Any] = []
        for inputs, outputs in pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
            layers += [torch.nn.Dropout(dropout)] if dropout > 0 else []
        net = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], n_classes))
        optimiser = torch.optim.Adam(net.parameters(), lr=learning_rate)
        inputs_all = torch.tensor(rows, dtype=torch.float32)
        labels_all = torch.tensor(np.asarray(labels), dtype=torch.long)
        for _ in range(epochs):
            order = torch.randperm(len(inputs_all))
            for start in range(0, len(order), BATCH_ROWS):
                batch = order[start : start + BATCH_ROWS]
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(net(inputs_all[batch]), labels_all[batch]).backward()
                optimiser.step()
    model = from_torch(net, columns)
    assert isinstance(model, NetworkModel)
    return model


def load_torch(purpose: str) -> Any:
    """The torch module, imported when it is needed and not before."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError.of("torch", "torch", purpose) from error
    return torch
