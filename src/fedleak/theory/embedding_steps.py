"""When the movement of embeddings determines the inner products of the rows behind them."""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.models.layers import Linear, layer_of_line
from fedleak.protocols.networks.vocabulary import NetworkFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, equals, n_outside_features, revealed
from fedleak.theory.embedding_signs import nothing_added

# Behind a linear top the updates of one batch are a Krylov sequence, and lose digits from round to round.
APART = Condition("the updates are not collinear", State.UNKNOWN, "the run shows it, in the precision of what is sent")


class EmbeddingSteps(Theorem):
    """E(t+1) - E(t) = -rate (X X^T + 1 1^T) G(t) for a linear bottom with a bias. That the equations are independent
    only the run shows, and how many digits survive depends on the precision of what is sent."""

    name = "fedleak/embedding-steps"
    summary = "the movement of a linear bottom's embeddings determines the inner products of the rows behind them"
    reference = Reference("fedleak", "docs/theory/split-networks.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        own, layer = facts.of(NetworkFacts), linear_bottom(facts)
        return Assessment(
            cls.name,
            (
                revealed(Capability.EMBEDDINGS, facts),
                _linear(facts, layer),
                equals("parameters take plain gradient steps", own.optimiser, "sgd"),
                _trains(own.trained),
                nothing_added(facts),
                _enough_updates(facts, layer),
                APART,
            ),
            conclusion="inner products of all of a partner's rows, as far as the updates are not collinear",
        )


def linear_bottom(facts: Facts) -> Linear | None:
    """The one layer of each party's network; None where there are others, or nobody knows."""
    lines = facts.of(NetworkFacts).bottom
    try:
        layers = [layer_of_line(line) for line in lines or ()]
    except InputError:
        return None
    return layers[0] if len(layers) == 1 and isinstance(layers[0], Linear) else None


def _linear(facts: Facts, layer: Linear | None) -> Condition:
    statement, lines = "each party's network is one linear layer", facts.of(NetworkFacts).bottom
    if lines is None:
        return Condition(statement, State.UNKNOWN, "layers are not known")
    return Condition(statement, State.HOLDS if layer else State.FAILS, ", ".join(lines))


def _trains(trained: bool | None) -> Condition:
    if trained is None:
        return Condition("parameters train", State.UNKNOWN, "not known")
    return Condition("parameters train", State.HOLDS if trained else State.FAILS, str(trained).lower())


def _independent_outputs(facts: Facts, layer: Linear | None) -> int | None:
    """Columns of a round's gradient that are not multiples of others: p - y sums to zero over the classes, and a linear
    top makes nothing more of it."""
    own = facts.of(NetworkFacts)
    if layer is None or own.top is None or (not own.top and own.n_classes is None):
        return None
    return layer.width if own.top or own.n_classes is None else min(layer.width, own.n_classes - 1)


def _enough_updates(facts: Facts, layer: Linear | None) -> Condition:
    """k the outputs that move apart. One batch: k (T - 1) updates of r coordinates for r (r + 1) / 2 unknowns,
    r = columns + 1. Batches that differ: k visits of N + outputs unknowns a row."""
    statement = "there are updates enough to solve for every inner product"
    rounds, width = facts.of(NetworkFacts).n_batches, n_outside_features(facts)
    apart = _independent_outputs(facts, layer)
    if layer is None or rounds is None or width is None or facts.n_rows is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "layers, rows, columns, batch size or rounds are not known")
    if apart is None:
        return Condition(statement, State.UNKNOWN, "the top or the number of classes is not known")
    if facts.batch_size >= facts.n_rows:
        rank = min(width + layer.bias, facts.n_rows)
        # The embeddings must span all columns, and the updates fix a symmetric matrix on them, with some to spare.
        needed = max(1 - (layer.width - rank) // apart, -(-(rank + 3) // (2 * apart)) + 1)
    else:
        needed = -(-(facts.n_rows + layer.width) // apart) * -(-facts.n_rows // facts.batch_size)
    return Condition(statement, State.HOLDS if rounds >= needed else State.FAILS, f"{rounds} rounds, {needed} needed")
