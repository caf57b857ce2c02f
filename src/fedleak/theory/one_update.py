"""What one update of several local steps determines, where a network is fully connected from its rows on.

E steps of plain gradient descent send -rate times the sum of E gradients. The rows that enter the first layer do not
move while it is trained, so that its part of the update is the sum over the rows of d_k [x_k, 1], d_k the sum of a
row's errors over the steps that visit it: rank N, the number of different rows, K where every step goes over one batch,
E K where no row comes twice. What d_k is, training says, which whoever knows parameters, rate and steps runs again.
"""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.models.layers import Flatten, Layer, Linear
from fedleak.protocols.networks.vocabulary import NetworkFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, revealed
from fedleak.theory.one_gradient import (
    balances,
    first_width,
    layers_told,
    nothing_added,
    one_by_one,
    smooth_activations,
)


class OneUpdate(Theorem):
    """Where it holds, the rows are isolated solutions; a search must find them, and the spacing of the parameters
    bounds how well."""

    name = "fedleak/one-update"
    summary = "one update of several local steps determines the rows that went into a fully connected network"
    reference = Reference("fedleak", "docs/theory/one-update.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        layers, n_rows = layers_told(facts), most_rows(facts)
        held = [party.n_features for party in facts.parties if party.n_features and party.name not in facts.adversary]
        inputs = min(held) + 1 if held else None
        return Assessment(
            cls.name,
            (
                revealed(Capability.NETWORK, facts),
                revealed(Capability.LAYER_UPDATES, facts),
                _course_known(facts),
                at_most("rows of all steps <= outputs of the first fully connected layer", n_rows, first_width(layers)),
                at_most("rows of all steps <= inputs of the first fully connected layer + 1", n_rows, inputs),
                _one_batch_or_none_twice(facts),
                _inputs_stay(layers),
                one_by_one(layers),
                smooth_activations(layers),
                nothing_added(facts, "updates"),
                _full_rank(facts, layers, n_rows),
            ),
            conclusion="N(N - 1) + (E - 1)(N - 1) unknowns meet more equations than that; rows come without an order",
        )


def most_rows(facts: Facts) -> int | None:
    """Of one update: a client that has no more than a batch goes over the same rows in every step."""
    steps, size = facts.of(NetworkFacts).local_steps, facts.batch_size
    if steps is None or size is None:
        return None
    return size if _one_batch(facts) else max(1, steps) * size


def _one_batch(facts: Facts) -> bool:
    """Rows are counted over all clients together."""
    clients = [party for party in facts.parties if party.role is Role.ACTIVE]
    return len(clients) == 1 and facts.n_rows is not None and facts.n_rows == facts.batch_size


def _one_batch_or_none_twice(facts: Facts) -> Condition:
    statement, steps = "every step goes over one batch, or no row comes twice", facts.of(NetworkFacts).local_steps
    if steps == 1 or _one_batch(facts):
        return Condition(statement, State.HOLDS, "one batch")
    return Condition(statement, State.UNKNOWN, "the rank of the update shows it, not before")


def _course_known(facts: Facts) -> Condition:
    statement = "plain gradient descent, with a known rate and number of steps"
    steps = facts.of(NetworkFacts).local_steps
    if steps == 0:
        return Condition(statement, State.FAILS, "gradients are sent, no updates")
    if steps is None or facts.learning_rate is None:
        return Condition(statement, State.UNKNOWN, "rate or steps are not told")
    return Condition(statement, State.HOLDS, f"{steps} steps at rate {facts.learning_rate:g}")


def _inputs_stay(layers: tuple[Layer, ...] | None) -> Condition:
    statement = "no layer before the first fully connected one is trained"
    if layers is None:
        return Condition(statement, State.UNKNOWN, "layers are not known")
    first = next((place for place, layer in enumerate(layers) if isinstance(layer, Linear)), len(layers))
    before = [layer.kind for layer in layers[:first] if not isinstance(layer, Flatten)]
    return Condition(statement, State.FAILS if before else State.HOLDS, ", ".join(before) or "rows enter as they are")


def _full_rank(facts: Facts, layers: tuple[Layer, ...] | None, n_rows: int | None) -> Condition:
    """The order of the steps is unknown where rows differ from step to step."""
    statement, later = "the equations' Jacobian has full rank at the solution", "the update itself shows it, not before"
    own = facts.of(NetworkFacts)
    if layers is None or n_rows is None or first_width(layers) is None:
        return Condition(statement, State.UNKNOWN, f"{later}; layers, batch or steps are not known")
    counted = balances(None, (*layers, Linear(own.n_classes or 2)), n_rows)[0]
    order = 0 if n_rows == facts.batch_size else (max(1, own.local_steps or 1) - 1) * (n_rows - 1)
    unknowns = counted.unknowns + order
    short = bool(own.n_classes) and unknowns > counted.equations
    least = "" if own.n_classes else "at least "
    detail = f"{unknowns} unknowns, {least}{counted.equations} equations; {later}"
    return Condition(statement, State.FAILS if short else State.UNKNOWN, detail)
