"""A data-holding party of a vertically federated linear model: its first weights, its scores, its steps.

Beside it, what all members share: the active party comes first, and everybody visits the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Table
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Sink
from fedleak.crypto import fixed_point
from fedleak.protocols.actor import Actor
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.linear_settings import VerticalLinearSettings


class Member:
    """Its actor, its features, its labels as -1/+1, its weights."""

    def __init__(self, party: Party, actor: Actor, settings: VerticalLinearSettings, n_all: int) -> None:
        self.party = party
        self.actor = actor
        self.features: FloatArray = actor.take_in(steps.OWN_DATA, party.train.features)
        self._fraction_bits = settings.fraction_bits
        extremes = np.array([self.features.min(initial=0.0), self.features.max(initial=0.0)])
        fixed_point.encode(extremes, settings.fraction_bits)  # refuses at once what a later batch could not send
        self.labels: FloatArray | None = None if party.train.labels is None else party.train.labels.astype(np.float64)
        self.signs: FloatArray | None = None if self.labels is None else 2.0 * self.labels - 1.0
        n_own = self.features.shape[1]
        self.weights: FloatArray = actor.compute(
            linear.INITIALISE, n_own, lambda width: initial_weights(settings.initialisation, width, n_all, actor.rng)
        )
        self._keep_inputs()

    def encoded(self, batch: IntArray) -> IntArray:
        """Its features of these rows in fixed point: a batch at a time, beside a table that may fill the memory."""
        return fixed_point.encode(self.features[batch], self._fraction_bits)

    def score(self, batch: IntArray) -> FloatArray:
        """The party's share of the linear score, a value a row."""
        return self.features[batch] @ self.weights

    def update(self, gradient: FloatArray, rate: float) -> None:
        """One step of descent. The records hold the gradient and the weights that the step gave."""
        actor = self.actor
        gradient = actor.compute(linear.GRADIENT, gradient, lambda value: value)
        actor.record(linear.GRADIENT, linear.OWN_GRADIENT, Array(gradient))
        self.weights = actor.compute(linear.UPDATE, gradient, lambda value: self.weights - rate * value)
        actor.record(linear.UPDATE, linear.WEIGHTS, Array(self.weights))

    def apply_step(self, step: FloatArray, rate: float, l2: float) -> None:
        """A step that an arbiter computed: rate times (gradient + l2 weights)."""
        gradient = step / rate - l2 * self.weights
        self.actor.record(linear.OPENED_GRADIENT, linear.ARBITERS_STEP, Array(step))
        self.actor.record(linear.GRADIENT, linear.OWN_GRADIENT, Array(gradient))
        self.weights = self.actor.compute(linear.UPDATE, step, lambda value: self.weights - value)
        self.actor.record(linear.UPDATE, linear.WEIGHTS, Array(self.weights))

    def _keep_inputs(self) -> None:
        actor, party = self.actor, self.party
        n_extra = self.features.shape[1] - len(party.columns)
        names = party.columns + tuple(f"extra{i}" for i in range(n_extra))
        actor.record(steps.OWN_DATA, steps.FEATURES, Table(names, party.train.ids, self.features))
        if party.train.labels is not None:
            actor.record(steps.OWN_DATA, steps.LABELS, Table(("label",), party.train.ids, party.train.labels[:, None]))
        actor.record(linear.INITIALISE, linear.WEIGHTS, Array(self.weights))


def all_members(
    parties: Sequence[Party],
    settings: VerticalLinearSettings,
    *,
    randomness: Randomness,
    hooks: Sequence[Hook[Any]],
    sink: Sink,
) -> list[Member]:
    n_all = sum(len(party.columns) for party in parties)
    return [Member(party, Actor(party.name, party.role, hooks, sink, randomness), settings, n_all) for party in parties]


def order_members(federation: Federation, *, binary: bool = True) -> tuple[Party, tuple[Party, ...]]:
    """The active party and the passive ones, all with the same rows; or an error that says what is wrong."""
    active = federation.with_role(Role.ACTIVE)
    passive = federation.with_role(Role.PASSIVE)
    if len(active) != 1 or not passive:
        raise InputError(
            f"{federation.protocol} must have one active and one or more passive parties; "
            f"got {len(active)} active and {len(passive)} passive"
        )
    labels = active[0].train.labels
    if labels is None:
        raise InputError(f"{active[0].name} must hold the labels; set [data] target to their column")
    if binary and not np.isin(labels, (0, 1)).all():
        raise InputError(f"labels of {active[0].name} must be 0 or 1; set [data] positive to the class that is 1")
    for party in passive:
        if not np.array_equal(party.train.ids, active[0].train.ids):
            raise InputError(f"rows of {party.name} must be those of {active[0].name}, in the same order")
    return active[0], passive


def initial_weights(scheme: str, n_own: int, n_all: int, rng: np.random.Generator) -> FloatArray:
    """A party's share of the first weights; the scale depends on the whole model's width ``n_all``."""
    drawn = rng.standard_normal(n_own)  # drawn for every scheme, so that schemes share the later randomness
    scale = {
        "zero": 0.0,
        "xavier": sqrt(2 / (n_all + 1)),  # Glorot and Bengio 2010, fan-in n, fan-out 1
        "kaiming": sqrt(2 / n_all),  # He et al. 2015
        "normal": 1.0,
    }[scheme]
    return scale * drawn


def batches(n_rows: int, batch_size: int, epochs: int, shuffle: bool, rng: np.random.Generator) -> Iterator[IntArray]:
    """Row positions of each mini-batch; every epoch visits every row once.

    Without ``shuffle`` the first epoch's batches recur. The last batch of an epoch may be smaller.
    """
    if batch_size > n_rows:
        raise InputError(f"batch_size must be at most the {n_rows} training rows; got {batch_size}")
    order = rng.permutation(n_rows)
    for _ in range(epochs):
        for start in range(0, n_rows, batch_size):
            yield order[start : start + batch_size]
        if shuffle:
            order = rng.permutation(n_rows)
