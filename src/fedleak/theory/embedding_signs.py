"""What the gradient of a row's embedding says of its label."""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.protocols.networks.vocabulary import NetworkFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, revealed


class EmbeddingSigns(Theorem):
    """The gradient of row i is J_i^T (p_i - y_i), J_i that of the scores by the embedding. With a linear top J_i is its
    weights for every row, and of two classes p - y = (a, -a): all gradients of a batch are multiples of one vector,
    positive for the one label and negative for the other. Which label is which does not follow: exchange the classes
    and the two outputs of the top, and every gradient is as it was."""

    name = "fedleak/embedding-signs"
    summary = "behind a linear top of two classes, embeddings' gradients point one way for a label, back for the other"
    reference = Reference("fedleak", "docs/theory/split-networks.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                revealed(Capability.EMBEDDING_GRADIENTS, facts),
                two_classes(facts),
                _linear_top(facts),
                nothing_added(facts),
            ),
            conclusion="rows of a batch fall into two by the direction of their gradients: by their labels",
        )


def two_classes(facts: Facts) -> Condition:
    count = facts.of(NetworkFacts).n_classes
    if count is None:
        return Condition("there are two classes", State.UNKNOWN, "their number is not known")
    return Condition("there are two classes", State.HOLDS if count == 2 else State.FAILS, f"{count} classes")


def _linear_top(facts: Facts) -> Condition:
    statement, top = "the top is one linear layer", facts.of(NetworkFacts).top
    if top is None:
        return Condition(statement, State.UNKNOWN, "its layers are not known")
    return Condition(statement, State.FAILS if top else State.HOLDS, f"{len(top)} layers before the last")


def nothing_added(facts: Facts) -> Condition:
    """To what is exchanged of embeddings and their gradients."""
    statement = "embeddings and their gradients are sent as they are"
    if facts.defense is None:
        return Condition(statement, State.HOLDS, "no defense")
    return Condition(statement, State.UNKNOWN, f"under {facts.defense}")
