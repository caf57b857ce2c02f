"""Federated protocols, in folders by what is trained or served; a file bears its protocol's name.

The list is light, like each family's ``vocabulary``: the process of an attack loads them, and no protocol.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fedleak.core.registry import Entry, Registry
from fedleak.core.vocabulary import Vocabulary

if TYPE_CHECKING:
    from fedleak.core.whole.protocol import Protocol

PROTOCOLS: Registry[Protocol] = Registry(
    "protocol",
    [
        Entry("vertical-logistic", "fedleak.protocols.linear.vertical_logistic:VerticalLogistic", ("vlr",)),
        Entry("horizontal-logistic", "fedleak.protocols.averaging.horizontal_logistic:HorizontalLogistic", ("hlr",)),
        Entry(
            "vertical-logistic-arbiter",
            "fedleak.protocols.linear.vertical_arbiter:VerticalLogisticArbiter",
            ("hetero-lr",),
        ),
        Entry(
            "vertical-linear-arbiter",
            "fedleak.protocols.linear.vertical_arbiter:VerticalLinearArbiter",
            ("hetero-linr",),
        ),
        Entry("horizontal-linear", "fedleak.protocols.averaging.horizontal_linear:HorizontalLinear", ("hlinr",)),
        Entry(
            "vertical-prediction",
            "fedleak.protocols.prediction.vertical_prediction:VerticalPrediction",
            ("prediction",),
        ),
        Entry("captured", "fedleak.protocols.captured.captured:CapturedRun"),
    ],
)


def vocabularies() -> tuple[Vocabulary, ...]:
    """Of all listed protocols, each once."""
    return tuple(import_module(module).VOCABULARY for module in vocabulary_modules())


def vocabulary_modules() -> tuple[str, ...]:
    """The module ``vocabulary`` beside a protocol's own, or the one that its entry names."""
    return tuple(dict.fromkeys(entry.vocabulary or _beside(entry.path) for entry in PROTOCOLS.entries))


def _beside(path: str) -> str:
    return f"{path.partition(':')[0].rpartition('.')[0]}.vocabulary"
