"""Models as data: linear, tree, forest, boosted trees, network and layered network interpret a ``ModelSpec``; any other
is opaque and can be asked.

model = convert(estimator, columns)       # from a user's estimator, torch module or function
model = interpret(spec)                   # from a message
confidences = model.confidences(rows)     # (rows, classes)
"""

from fedleak.models.boosted_model import BoostedModel
from fedleak.models.convert import convert
from fedleak.models.interpret import interpret
from fedleak.models.layered import LayeredNetwork
from fedleak.models.model import Model
from fedleak.models.opaque import OpaqueModel
from fedleak.models.score_models import LinearModel, Link, NetworkModel
from fedleak.models.tree_models import ForestModel, TreeModel, TreeOutput

__all__ = [
    "BoostedModel",
    "ForestModel",
    "LayeredNetwork",
    "LinearModel",
    "Link",
    "Model",
    "NetworkModel",
    "OpaqueModel",
    "TreeModel",
    "TreeOutput",
    "convert",
    "interpret",
]
