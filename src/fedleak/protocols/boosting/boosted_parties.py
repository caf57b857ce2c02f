"""Who trains boosted trees together, and what the holder of the labels starts with."""

from __future__ import annotations

import numpy as np

from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party
from fedleak.models.boosting.booster import Booster, shown_labels
from fedleak.models.boosting.losses import objective_for
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings


def label_holder_first(protocol: str, federation: Federation) -> tuple[Party, ...]:
    """The parties with data, all with the same rows."""
    active, passive = federation.with_role(Role.ACTIVE), federation.with_role(Role.PASSIVE)
    if len(active) != 1 or not passive:
        raise InputError(
            f"{protocol} must have one active and one or more passive parties; "
            f"got {len(active)} active and {len(passive)} passive"
        )
    if active[0].train.labels is None:
        raise InputError(f"{active[0].name} must hold the labels; set [data] target to their column")
    for party in passive:
        if not np.array_equal(party.train.ids, active[0].train.ids):
            raise InputError(f"rows of {party.name} must be those of {active[0].name}, in the same order")
        if not party.columns:
            raise InputError(f"{party.name} must hold a column or more: it has nothing to offer splits on")
    return (*active, *passive)


def booster_of(holder: Party, settings: SecureBoostSettings, rng: np.random.Generator) -> Booster:
    labels = np.asarray(holder.train.labels)
    objective = objective_for(settings.objective, labels)
    if objective == "squared" and settings.label_epsilon:
        raise InputError("label_epsilon must be 0 where labels are numbers: randomised response is for classes")
    n_classes = 1 if objective == "squared" else int(labels.max()) + 1
    return Booster(
        objective,
        labels,
        n_classes,
        fraction_bits=settings.fraction_bits,
        sampling=settings.sampling,
        shown=shown_labels(labels, n_classes, settings.label_epsilon, rng),
    )


def with_objective(facts: Facts, federation: Federation, wanted: str) -> Facts:
    """What is boosted is public, and with it how many classes there are; the labels decide where nobody says."""
    labels = [party.train.labels for party in federation.parties if party.train.labels is not None]
    if not labels or not len(labels[0]):
        return facts
    objective = objective_for(wanted, np.asarray(labels[0]))
    n_classes = None if objective == "squared" else int(np.max(labels[0])) + 1
    return facts.with_own(boosting.BoostingFacts, objective=objective.value, n_classes=n_classes)
