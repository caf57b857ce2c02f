"""Vertical prediction: a trained model is served to the active party (Luo et al. 2021, sections II-B and III).

The parties train on their joint table and predict new rows together. Both computations are ideal: nobody sees an
intermediate value. The active party gets the confidences of every prediction and, by the usual terms, the model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Scalar, Table
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Captured, Run, Sink
from fedleak.core.whole.truth import KeptSecret, SecretValues, Served, Truth
from fedleak.models.model import Model
from fedleak.models.opaque import SERVICE, OpaqueModel
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.prediction import vocabulary as prediction
from fedleak.protocols.prediction.served_model import PredictionSettings, contributions, model_service, served_model
from fedleak.protocols.usefulness import Usefulness, of_classes


@dataclass(frozen=True, eq=False)
class _Joint:
    """What the parties hold together: only the ideal computation sees it whole, and the rows that it works on alone."""

    columns: tuple[str, ...]
    ids: IntArray
    parts: tuple[FloatArray, ...]  # a party's columns each
    labels: IntArray

    def rows(self, positions: IntArray) -> FloatArray:
        found = np.empty((len(positions), len(self.columns)))
        end = 0
        for part in self.parts:
            start, end = end, end + part.shape[1]
            found[:, start:end] = part[positions]
        return found


class VerticalPrediction(Protocol):
    """``model`` is served as it is; without one, the settings say which is trained or read from a file."""

    name = "vertical-prediction"
    aliases = ("prediction",)
    summary = "a trained model served to the active party: it sees confidences and the model, nothing else"
    reference = Reference("luo2021", "sections II-B, III")
    settings_type = PredictionSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE})
    named_steps = frozenset(
        {
            prediction.COLUMNS,
            prediction.CONFIDENCES,
            prediction.CONTRIBUTIONS,
            prediction.MODEL,
            steps.OWN_DATA,
            prediction.REQUEST,
        }
    )

    may_reveal = frozenset(
        {
            Capability.OWN_FEATURES,
            Capability.LABELS,
            Capability.PREDICTIONS,
            Capability.MODEL,
            Capability.LINEAR_MODEL,
            Capability.TREE_MODEL,
            Capability.FOREST_MODEL,
            Capability.CONTRIBUTIONS,
        }
    )

    def __init__(self, model: Model | None = None) -> None:
        self._model = model

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(VerticalPrediction.name, PredictionSettings, federation.settings)
        parties = _ordered(federation)
        actors = [Actor(party.name, party.role, hooks, sink, randomness) for party in parties]
        computation = Actor(prediction.JOINT_COMPUTATION, Role.SERVER, hooks, sink, randomness)
        joint = _join(parties, actors, settings)
        share = 1.0 if self._model else settings.prediction_share
        train, wanted = _split(len(joint.ids), share, randomness.public("predicted rows"))
        drawn = randomness.secret(prediction.JOINT_COMPUTATION, "training")
        model = self._model or served_model(settings, joint.rows(train), joint.labels[train], joint.columns, drawn)
        for party, actor, own in zip(parties, actors, joint.parts, strict=True):
            _keep(party, actor, joint, own, train, wanted)
        start_round([*actors, computation], 0)
        rows = model.arrange(joint.rows(wanted), joint.columns)
        released = _serve(model, rows, joint.ids[wanted], actors[0], computation, settings)
        del rows  # a copy of it is recorded
        captured = sink.finish(facts)
        served = Served(model.to_spec(), _recorded_inputs(captured), released)
        truth = truth_of(parties, joint.ids[wanted], wanted, served, unit_box=settings.unit_box)
        known = joint.labels[train] if len(train) else joint.labels
        measured = utility(released, joint.labels[wanted], model, parties, known)
        services = {}
        if isinstance(model, OpaqueModel) and settings.reveal == "model":
            services[SERVICE] = model_service(model, parties[0].name)
        return Run(
            captured.transcript,
            captured.locals,
            truth,
            measured.figures,
            services=services,
            baselines=measured.baselines,
        )

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        own = settings_of(VerticalPrediction.name, PredictionSettings, settings)
        return Facts(
            protocol=cls.name,
            parties=parties,
            n_rows=n_rows,
            own=prediction.PredictionFacts(
                model=own.model,
                reveal=own.reveal,
                unit_box=own.unit_box,
                n_classes=own.n_classes or None,
                tree_output=own.tree_output,
            ),
        )

    @classmethod
    def with_data(cls, facts: Facts, federation: Federation) -> Facts:
        labels = [party.train.labels for party in federation.parties if party.train.labels is not None]
        n_classes = int(np.max(labels[0])) + 1 if labels and len(labels[0]) else None
        known = facts.of(prediction.PredictionFacts).n_classes
        return facts.with_own(prediction.PredictionFacts, n_classes=n_classes or known)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        found = {Capability.OWN_FEATURES}
        if Role.ACTIVE in {party.role for party in parties if party.name in coalition}:
            found |= {Capability.LABELS, Capability.PREDICTIONS}
            own = settings_of(VerticalPrediction.name, PredictionSettings, settings)
            extra = {"model": _model_capabilities(own), "contributions": {Capability.CONTRIBUTIONS}}
            found |= extra.get(own.reveal, set())
        return frozenset(found)


def _model_capabilities(settings: PredictionSettings) -> set[Capability]:
    """A model, and which kind: an attack that is made for one kind asks for it."""
    kinds = {"logistic": {Capability.LINEAR_MODEL}, "tree": {Capability.TREE_MODEL}}
    if settings.tree_output == "one-hot":
        kinds["forest"] = {Capability.FOREST_MODEL}
    return {Capability.MODEL} | kinds.get(settings.model, set())


def _ordered(federation: Federation) -> tuple[Party, ...]:
    """The active party first; all with the same rows."""
    active, passive = federation.with_role(Role.ACTIVE), federation.with_role(Role.PASSIVE)
    if len(active) != 1 or not passive:
        raise InputError(
            "vertical-prediction must have one active and one or more passive parties; "
            f"got {len(active)} active and {len(passive)} passive"
        )
    if any(party.name == prediction.JOINT_COMPUTATION for party in federation.parties):
        raise InputError(
            f"a party must not be called {prediction.JOINT_COMPUTATION!r}, as the computation is; rename it"
        )
    labels = active[0].train.labels
    if labels is None or np.asarray(labels).dtype.kind not in "iub" or (len(labels) and np.min(labels) < 0):
        raise InputError(f'labels of {active[0].name} must be classes 0, 1, 2 ...; set [data] task = "multiclass"')
    for party in passive:
        if not np.array_equal(party.train.ids, active[0].train.ids):
            raise InputError(f"rows of {party.name} must be those of {active[0].name}, in the same order")
    return (*active, *passive)


def _join(parties: Sequence[Party], actors: Sequence[Actor], settings: PredictionSettings) -> _Joint:
    parts = []
    for party, actor in zip(parties, actors, strict=True):
        features = actor.take_in(steps.OWN_DATA, party.train.features)
        if settings.unit_box and features.size and (features.min() < -1e-9 or features.max() > 1 + 1e-9):
            raise InputError(
                f"columns of {party.name} must lie between 0 and 1; got {features.min():g} to {features.max():g}. "
                'Set [data] scaling = "minmax", or [federation] unit_box = false'
            )
        actor.publish(prediction.COLUMNS, Scalar(json.dumps(list(party.columns))))
        parts.append(features)
    columns = tuple(name for party in parties for name in party.columns)
    labels = np.asarray(parties[0].train.labels, dtype=np.int64)
    return _Joint(columns, parties[0].train.ids, tuple(parts), labels)


def _split(n_rows: int, share: float, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Positions to train on, and positions to predict."""
    n_wanted = max(1, round(share * n_rows))
    order = rng.permutation(n_rows)
    return np.sort(order[n_wanted:]), np.sort(order[:n_wanted])


def _keep(party: Party, actor: Actor, joint: _Joint, own: FloatArray, train: IntArray, wanted: IntArray) -> None:
    actor.record(steps.OWN_DATA, steps.FEATURES, Table(party.columns, joint.ids[wanted], own[wanted]))
    if party.train.labels is not None:
        trained_on = Table(party.columns, joint.ids[train], own[train])
        actor.record(steps.OWN_DATA, prediction.TRAINING_FEATURES, trained_on)
        actor.record(steps.OWN_DATA, steps.LABELS, Table(("label",), joint.ids[train], joint.labels[train][:, None]))


def _serve(
    model: Model, rows: FloatArray, ids: IntArray, active: Actor, computation: Actor, settings: PredictionSettings
) -> FloatArray:
    """Returns the confidences as released; a withheld row is NaN."""
    computation.record(prediction.MODEL, prediction.SERVED_MODEL, model.to_spec())
    computation.record(prediction.CONFIDENCES, prediction.INPUTS, Table(model.columns, ids, rows))
    if settings.reveal == "model":
        computation.send(prediction.MODEL, active, model.to_spec())
    active.publish(prediction.REQUEST, Array(ids))
    released = computation.send(prediction.CONFIDENCES, active, Array(model.confidences(rows)))
    if settings.reveal == "contributions":
        computation.send(
            prediction.CONTRIBUTIONS, active, Table(model.columns, ids, contributions(model, rows, released.values))
        )
    return np.asarray(released.values)


def _recorded_inputs(captured: Captured) -> Table:
    """From the records: on the disk where they are, and in memory once."""
    records = captured.locals[prediction.JOINT_COMPUTATION]
    return next(one.value for one in records if one.name == prediction.INPUTS.name and isinstance(one.value, Table))


def truth_of(parties: Sequence[Party], ids: IntArray, wanted: IntArray, served: Served, *, unit_box: bool) -> Truth:
    """The predicted rows of every party; a column's range is the unit interval, or that of all its rows.

    A party's values are its own, also where it kept a column out of the computation.
    """
    secrets: dict[Secret, KeptSecret] = {}
    for party in parties:
        if party.columns:
            values = partial(_values_of, party, ids, wanted, unit_box=unit_box)
            secrets[Secret(SecretKind.FEATURES, party.name)] = values
            secrets[Secret(SecretKind.RANGES, party.name)] = values
    return Truth(secrets, served)


def _values_of(party: Party, ids: IntArray, wanted: IntArray, *, unit_box: bool) -> SecretValues:
    own, all_rows = party.train.features, party.described_by
    unit = (np.zeros(own.shape[1]), np.ones(own.shape[1]))
    low, high = unit if unit_box else (all_rows.min(axis=0), all_rows.max(axis=0))
    return SecretValues(ids, party.columns, own[wanted], np.column_stack([low, high]))


def utility(
    released: FloatArray, labels: IntArray, model: Model, parties: Sequence[Party], trained_on: IntArray
) -> Usefulness:
    """Accuracy of what the active party received, the share that it received, and the model's on held-out rows."""
    given = np.isfinite(released).all(axis=1)
    found = Usefulness({"released_share": float(given.mean())})
    if given.any():
        found |= of_classes("prediction", np.argmax(released[given], axis=1), labels[given], trained_on)
    held_out = [party.test for party in parties if party.test is not None and len(party.test.ids)]
    if len(held_out) == len(parties) and held_out[0].labels is not None:
        names = [name for party in parties for name in party.columns]
        rows = model.arrange(np.hstack([part.features for part in held_out]), names)
        found |= of_classes("test", np.argmax(model.confidences(rows), axis=1), held_out[0].labels, trained_on)
    return found
