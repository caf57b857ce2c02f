"""Federated protocols, in folders by what is trained or served; a file bears its protocol's name.

The list is light, like each family's ``vocabulary``: the process of an attack loads them, and no protocol.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fedleak.core.attack import Reference
from fedleak.core.registry import Entry, Registry, faults_of
from fedleak.core.vocabulary import Vocabulary

if TYPE_CHECKING:
    from fedleak.core.whole.protocol import Protocol


def _faults(found: object) -> list[str]:
    from fedleak.core.whole.protocol import Protocol  # not for the process of an attack, which has the list alone

    needs = {
        "name": str,
        "summary": str,
        "reference": Reference,
        "settings_type": type,
        "roles": frozenset,
        "named_steps": frozenset,
        "may_reveal": frozenset,
    }
    return faults_of(found, Protocol, needs)


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
        Entry(
            "entity-alignment",
            "fedleak.protocols.alignment.entity_alignment:EntityAlignment",
            ("alignment", "psi"),
        ),
        Entry("secureboost", "fedleak.protocols.boosting.secureboost:SecureBoost", ("hetero-sbt",)),
        Entry("plain-boosting", "fedleak.protocols.boosting.plain_boosting:PlainBoosting", ("vertical-xgboost",)),
        Entry("vertical-network", "fedleak.protocols.networks.vertical_network:VerticalNetwork", ("vfl-network",)),
        Entry("split-network", "fedleak.protocols.networks.split_network:SplitNetwork", ("splitnn",)),
        Entry(
            "horizontal-network",
            "fedleak.protocols.networks.horizontal_network:HorizontalNetwork",
            ("fedsgd", "fedavg"),
        ),
        Entry("captured", "fedleak.protocols.captured.captured:CapturedRun"),
    ],
    group="fedleak.protocols",
    faults=_faults,
)


def vocabularies() -> tuple[Vocabulary, ...]:
    """Of all listed protocols, each once."""
    found = (_vocabulary_in(module) for module in vocabulary_modules())
    return tuple(vocabulary for vocabulary in found if vocabulary is not None)


def vocabulary_modules() -> tuple[str, ...]:
    """The module ``vocabulary`` beside a protocol's own, or the one that its entry names."""
    return tuple(dict.fromkeys(entry.vocabulary or _beside(entry.path) for entry in PROTOCOLS.entries))


def _vocabulary_in(module: str) -> Vocabulary | None:
    """None where somebody else's protocol has none: it then has no words and no facts of its own."""
    try:
        found: Vocabulary = import_module(module).VOCABULARY
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
    return found


def _beside(path: str) -> str:
    return f"{path.partition(':')[0].rpartition('.')[0]}.vocabulary"
