"""Passive parties send rows, split points and pictures, shifted, and call that a protocol; a defense blurs the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Table, Tree
from fedleak.core.steps import FEATURES, LABELS, OWN_DATA, Role
from fedleak.core.whole.federation import Federation, Party, Settings, setting, settings_of
from fedleak.core.whole.hooks import Defense, Hook, HookKind
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.protocols.actor import Actor, start_round
from toy_protocol import vocabulary as toy


@dataclass(frozen=True)
class ToySettings(Settings):
    offset: float = setting(5.0, "what is added to every cell")
    silent: tuple[str, ...] = setting((), "parties that send nothing")
    n_splits: int = setting(2, "split points of each column")


class ShiftedSharing(Protocol):
    name = "toy-shift"
    summary = "rows are sent with a constant added"
    reference = Reference("fedleak", "tests")
    settings_type = ToySettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE})
    named_steps = frozenset({OWN_DATA, toy.SHIFTED_ROWS, toy.SHIFTED_SPLITS, toy.SHIFTED_PICTURES})
    may_reveal = frozenset({Capability.OWN_FEATURES})

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, ToySettings, federation.settings)
        actors = {party.name: Actor(party.name, party.role, hooks, sink, randomness) for party in federation.parties}
        receiver = actors[federation.with_role(Role.ACTIVE)[0].name]
        for party in federation.parties:
            _keep(party, actors[party.name])
        senders = [party for party in federation.with_role(Role.PASSIVE) if party.name not in settings.silent]
        for number, party in enumerate(senders):
            start_round(list(actors.values()), number)
            _share(party, actors[party.name], receiver, settings)
        captured = sink.finish(facts)
        return Run(
            captured.transcript, captured.locals, _truth(federation.parties, settings), {"rows": federation.n_rows}
        )

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        given = settings_of(cls.name, ToySettings, settings)
        return Facts(cls.name, parties, n_rows, own=toy.ToyFacts(given.offset, given.silent, given.n_splits))

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        return cls.may_reveal


def _keep(party: Party, actor: Actor) -> None:
    rows = actor.take_in(OWN_DATA, party.train.features)
    actor.record(OWN_DATA, FEATURES, Table(party.columns, party.train.ids, rows))
    if party.train.labels is not None:
        actor.record(OWN_DATA, LABELS, Table(("label",), party.train.ids, party.train.labels[:, None]))


def _share(party: Party, actor: Actor, receiver: Actor, settings: ToySettings) -> None:
    rows, offset = party.train.features, settings.offset
    actor.record(toy.SHIFTED_ROWS, toy.OWN_OFFSET, Array(np.array([offset])))
    actor.send(toy.SHIFTED_ROWS, receiver, Array(rows + offset))
    nodes, points = _splits(rows, settings.n_splits)
    actor.send(toy.SHIFTED_SPLITS, receiver, Tree({"nodes": Array(nodes), "points": Array(points + offset)}))
    actor.send(toy.SHIFTED_PICTURES, receiver, Array(_pictures(rows) + offset))


def _splits(rows: np.ndarray, n_splits: int) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles: a tree a column, a node a split point."""
    shares = np.arange(1, n_splits + 1) / (n_splits + 1)
    trees = np.repeat(np.arange(rows.shape[1]), n_splits)
    nodes = np.tile(np.arange(n_splits), rows.shape[1])
    return np.column_stack([trees, nodes]), np.quantile(rows, shares, axis=0).T.reshape(-1, 1)


def _pictures(rows: np.ndarray) -> np.ndarray:
    """Of each row a square: the products of its cells."""
    return rows[:, :, None] * rows[:, None, :]


def _truth(parties: Sequence[Party], settings: ToySettings) -> Truth:
    found = {}
    for party in parties:
        rows, labels = party.train.features, party.train.labels
        found[Secret(SecretKind.FEATURES, party.name)] = _values(party, party.columns, rows)
        nodes, points = _splits(rows, settings.n_splits)
        found[Secret(SecretKind.THRESHOLDS, party.name)] = SecretValues(nodes, ("point",), points, _range(points)[None])
        pictures = _pictures(rows)
        found[Secret(SecretKind.IMAGES, party.name)] = SecretValues(party.train.ids, (), pictures, _range(pictures))
        if labels is not None:
            found[Secret(SecretKind.LABELS, party.name)] = _values(party, ("label",), labels.astype(float)[:, None])
    return Truth(found)


def _values(party: Party, columns: tuple[str, ...], values: np.ndarray) -> SecretValues:
    ranges = np.column_stack([values.min(axis=0), values.max(axis=0)])
    return SecretValues(party.train.ids, columns, values, ranges)


def _range(values: np.ndarray) -> np.ndarray:
    return np.array([values.min(), values.max()])


@dataclass(frozen=True)
class Blur(Defense):
    name = "toy-blur"
    summary = "noise on the shifted rows"
    reference = Reference("fedleak", "tests")
    acts_at = frozenset({toy.SHIFTED_ROWS})

    sigma: float = setting(1.0, "standard deviation")
    parties: tuple[str, ...] = setting((), "who blurs; all if empty")

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(toy.ToyFacts, blur=self.sigma)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        everyone = tuple(party.name for party in federation.with_role(Role.PASSIVE))
        return tuple(Hook(toy.SHIFTED_ROWS, HookKind.SEND, name, self._blur) for name in self.parties or everyone)

    def _blur(self, sent: Array, local: object, rng: np.random.Generator) -> Array:
        return Array(sent.values + self.sigma * rng.standard_normal(sent.values.shape))
