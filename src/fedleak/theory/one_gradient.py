"""What one gradient of a layered network determines: equations against unknowns, layer by layer.

The gradient of a fully connected layer over K rows is a sum of K products d_k [h_k, 1]. Where K <= min(inputs + 1,
outputs) its rank shows K and the span of the rows, and K(K - 1) numbers are open. Every d_k is a function of h_k and
its label, so the layer gives outputs x K equations for them and each later layer as many as it has parameters. Below
it, a batch of pixels meets K x inputs equations of the h_k, and as many as the convolutions have parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.models.layers import Activation, BatchNorm, Dropout, Layer, Linear, Shape, layer_of_line
from fedleak.protocols.networks.vocabulary import NetworkFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, revealed


@dataclass(frozen=True)
class Balance:
    """Of one part of the network: what is unknown before it is used, and what it says."""

    layer: str
    unknowns: int
    equations: int


def balances(input_shape: Shape | None, layers: Sequence[Layer], n_rows: int) -> tuple[Balance, ...]:
    """From the first fully connected layer to the pixels; without a fully connected layer there is none, and of pixels
    none without their shape."""
    first = next((place for place, layer in enumerate(layers) if isinstance(layer, Linear)), None)
    if first is None:
        return ()
    linear = layers[first]
    assert isinstance(linear, Linear)
    later, _ = _sizes((linear.width,), layers[first + 1 :])
    found = [Balance(f"{first} and later: rows into it", n_rows * (n_rows - 1), linear.width * n_rows + later)]
    earlier, entering = (0, ()) if input_shape is None else _sizes(input_shape, layers[:first])
    if earlier and input_shape is not None:
        found.append(Balance(f"0 to {first}: pixels", n_rows * prod(input_shape), n_rows * prod(entering) + earlier))
    return tuple(found)


def _sizes(shape: Shape, layers: Sequence[Layer]) -> tuple[int, Shape]:
    """Parameters of layers one after the other, and the shape after them."""
    total = 0
    for layer in layers:
        total += sum(prod(one) for one in layer.parameters(shape).values())
        shape = layer.after(shape)
    return total, shape


class OneGradient(Theorem):
    """Where it holds, the rows into the first fully connected layer are isolated solutions; a search must find them,
    and rounding bounds how well."""

    name = "fedleak/one-gradient"
    summary = "one gradient determines the rows that went into the first fully connected layer, in no order"
    reference = Reference("fedleak", "docs/theory/one-gradient.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        layers = layers_told(facts)
        return Assessment(
            cls.name,
            (
                revealed(Capability.NETWORK, facts),
                revealed(Capability.LAYER_GRADIENTS, facts),
                at_most("K <= outputs of the first fully connected layer", facts.batch_size, first_width(layers)),
                one_by_one(layers),
                smooth_activations(layers),
                nothing_added(facts, "gradients"),
                _full_rank(facts, layers),
            ),
            conclusion="K(K - 1) unknowns meet more equations than that; rows come without an order",
        )


def layers_told(facts: Facts) -> tuple[Layer, ...] | None:
    lines = facts.of(NetworkFacts).bottom
    try:
        return None if lines is None else tuple(layer_of_line(line) for line in lines)
    except InputError:
        return None


def _full_rank(facts: Facts, layers: tuple[Layer, ...] | None) -> Condition:
    """Fewer equations than unknowns refute it; enough of them do not show that they are independent. The theorem is
    about the rows: what there is about pixels stands beside them. Two classes are the fewest that there may be."""
    statement, later = (
        "the equations' Jacobian has full rank at the solution",
        "the gradient itself shows it, not before",
    )
    shape, n_classes = _input_shape(facts), facts.of(NetworkFacts).n_classes
    if layers is None or facts.batch_size is None or first_width(layers) is None:
        return Condition(statement, State.UNKNOWN, f"{later}; layers or batch are not known")
    try:
        found = balances(shape, (*layers, Linear(n_classes or 2)), facts.batch_size)
    except InputError as error:  # a picture that is no square, or layers that do not fit
        return Condition(statement, State.UNKNOWN, f"{later}; {error}")
    least = "" if n_classes else "at least "
    counts = [f"layers {one.layer}: {one.unknowns} unknowns, {least}{one.equations} equations" for one in found]
    short = bool(n_classes) and found[0].unknowns > found[0].equations
    return Condition(statement, State.FAILS if short else State.UNKNOWN, "; ".join([*counts, later]))


def _input_shape(facts: Facts) -> Shape | None:
    """Of a row of whoever holds some; pictures are counted as squares, of one channel or of three."""
    held = next((one for one in facts.parties if one.n_features), None)
    if held is None or held.n_features is None or held.pictures is None:
        return None
    if not held.pictures:
        return (held.n_features,)
    sides = {channels: isqrt(held.n_features // channels) for channels in (1, 3)}
    return next(((n, side, side) for n, side in sides.items() if n * side**2 == held.n_features), None)


def first_width(layers: tuple[Layer, ...] | None) -> int | None:
    return next((layer.width for layer in layers or () if isinstance(layer, Linear)), None)


def one_by_one(layers: tuple[Layer, ...] | None) -> Condition:
    statement = "no batch norm, no dropout"
    if layers is None:
        return Condition(statement, State.UNKNOWN, "layers are not known")
    mixing = [str(layer) for layer in layers if isinstance(layer, BatchNorm | Dropout)]
    return Condition(statement, State.FAILS if mixing else State.HOLDS, ", ".join(mixing) or "rows pass one by one")


def smooth_activations(layers: tuple[Layer, ...] | None) -> Condition:
    statement = "activations from the first fully connected layer on are smooth"
    if layers is None:
        return Condition(statement, State.UNKNOWN, "layers are not known")
    first = next((place for place, layer in enumerate(layers) if isinstance(layer, Linear)), len(layers))
    kinks = [layer.how for layer in layers[first:] if isinstance(layer, Activation) and "relu" in layer.how]
    # With kinks slopes are 0 or 1: SPEAR's sparsity decides, not this count.
    return Condition(statement, State.UNKNOWN if kinks else State.HOLDS, ", ".join(kinks) or "sigmoid or tanh")


def nothing_added(facts: Facts, sent: str) -> Condition:
    statement = f"{sent} are sent as they are"
    if facts.defense is None:
        return Condition(statement, State.HOLDS, "no defense")
    return Condition(statement, State.UNKNOWN, f"under {facts.defense}")
