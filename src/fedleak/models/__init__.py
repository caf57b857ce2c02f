"""Models as data: linear, tree, forest and network interpret a ``ModelSpec``; conversions from scikit-learn and torch.

model = convert(estimator, columns)       # from a user's scikit-learn estimator or torch module
model = interpret(spec)                   # from a message
confidences = model.confidences(rows)     # (rows, classes)
"""

from fedleak.models.convert import convert
from fedleak.models.forest import ForestModel
from fedleak.models.interpret import interpret
from fedleak.models.linear import LinearModel, Link
from fedleak.models.model import Model
from fedleak.models.network import NetworkModel
from fedleak.models.tree import TreeModel, TreeOutput

__all__ = [
    "ForestModel",
    "LinearModel",
    "Link",
    "Model",
    "NetworkModel",
    "TreeModel",
    "TreeOutput",
    "convert",
    "interpret",
]
