"""SecureBoost: vertical gradient-boosted trees whose gradients stay encrypted (Cheng et al. 2021; Li et al. 2021, 2.3).

The label holder encrypts g and h of every row; each partner sums the ciphertexts over the left rows of every split that
it could make, in an order of its own; the label holder opens the sums and tells a partner which of them won. Whose a
node is, and which way its rows go, the label holder sees; the threshold stays with its owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Scalar, Table, Tree
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.crypto import CIPHERS
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.boosting.booster import FinishedTree, assembled
from fedleak.models.boosting.growth import Owner, grow
from fedleak.models.boosting.plain_owner import PlainOwner
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosted_parties import booster_of, label_holder_first, with_objective
from fedleak.protocols.boosting.boosting_headroom import check_boosting_headroom
from fedleak.protocols.boosting.boosting_outcome import held_by_labels, truth_of, usefulness
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings, boosting_facts
from fedleak.protocols.boosting.hop_prediction import Structure, predict_by_hops, prediction_service
from fedleak.protocols.boosting.label_holder import LabelHolder, RemoteOwner
from fedleak.protocols.boosting.partner import ColumnOwner, Partner


class SecureBoost(Protocol):
    name = "secureboost"
    aliases = ("hetero-sbt",)
    summary = "vertical gradient-boosted trees over encrypted gradients, predicted hop by hop (the form of FATE)"
    reference = Reference("li2021", "sections 2.3, 5")
    settings_type = SecureBoostSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE})
    takes_missing = True
    named_steps = frozenset(boosting.VOCABULARY.steps)
    may_reveal = frozenset(
        {
            Capability.OWN_FEATURES,
            Capability.LABELS,
            Capability.CIPHERTEXTS,
            Capability.NODE_ROWS,
            Capability.CANDIDATE_SUMS,
            Capability.NODE_ROUTING,
            Capability.ENROLLED_RECORDS,
        }
    )

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, SecureBoostSettings, federation.settings)
        parties = _ordered(federation, settings)
        actors = [Actor(party.name, party.role, hooks, sink, randomness) for party in parties]
        holder, partners = _members(parties, actors, settings)
        owners: list[ColumnOwner] = [holder, *partners]
        trees = _train(holder, partners, settings)
        model = assembled(trees, holder.booster, tuple(name for party in parties for name in party.columns))
        _keep_model(owners, trees, model, settings)
        structure = Structure(model, _owner_of_nodes(trees))
        _predict_held_out(
            structure,
            owners,
            parties,
            settings,
            Actor(boosting.ROUTING_COMPUTATION, Role.SERVER, hooks, sink, randomness),
        )
        captured = sink.finish(facts)
        services = dict([prediction_service(structure, owners, settings)]) if settings.enrolled_records else {}
        useful = usefulness(parties, model)
        return Run(
            captured.transcript,
            captured.locals,
            truth_of(owners, settings),
            useful.figures,
            services=services,
            baselines=useful.baselines,
        )

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        return boosting_facts(cls.name, settings_of(cls.name, SecureBoostSettings, settings), parties, n_rows)

    @classmethod
    def with_data(cls, facts: Facts, federation: Federation) -> Facts:
        settings = settings_of(cls.name, SecureBoostSettings, federation.settings)
        return with_objective(facts, federation, settings.objective)

    @classmethod
    def check_headroom(cls, settings: Settings, facts: Facts) -> None:
        check_boosting_headroom(settings_of(cls.name, SecureBoostSettings, settings), facts)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        own = settings_of(cls.name, SecureBoostSettings, settings)
        roles = {party.role for party in parties if party.name in coalition}
        found = {Capability.OWN_FEATURES}
        takes_part = own.n_trees > 1 or not own.first_tree_alone
        if Role.ACTIVE in roles:
            found |= {Capability.LABELS}
            found |= {Capability.CANDIDATE_SUMS, Capability.NODE_ROUTING} if takes_part else set()
            found |= {Capability.ENROLLED_RECORDS} if own.enrolled_records else set()
        if Role.PASSIVE in roles and takes_part:
            found |= {Capability.NODE_ROWS, Capability.CIPHERTEXTS}
        return frozenset(found)


def _ordered(federation: Federation, settings: SecureBoostSettings) -> tuple[Party, ...]:
    parties = label_holder_first("secureboost", federation)
    if settings.first_tree_alone and not parties[0].columns:
        raise InputError(
            f"{parties[0].name} must hold columns to grow the first tree alone; set first_tree_alone = false"
        )
    if any(party.name == boosting.ROUTING_COMPUTATION for party in federation.parties):
        raise InputError(
            f"a party must not be called {boosting.ROUTING_COMPUTATION!r}, as the computation is; rename it"
        )
    return parties


def _members(
    parties: Sequence[Party], actors: Sequence[Actor], settings: SecureBoostSettings
) -> tuple[LabelHolder, list[Partner]]:
    booster = booster_of(parties[0], settings, actors[0].rng)
    key = CIPHERS.get(settings.cipher)().generate(settings.key_bits)
    holder = LabelHolder(parties[0], actors[0], settings, key, booster)
    offsets = np.cumsum([len(party.columns) for party in parties]).tolist()
    members = zip(parties[1:], actors[1:], offsets, strict=False)
    return holder, [Partner(party, actor, settings, offset) for party, actor, offset in members]


def _train(holder: LabelHolder, partners: Sequence[Partner], settings: SecureBoostSettings) -> list[FinishedTree]:
    trees: list[FinishedTree] = []
    for number in range(settings.n_trees):
        holder.booster.start_round()
        taking_part = () if number == 0 and settings.first_tree_alone else partners
        for score in range(holder.booster.scores.shape[1]):
            start_round([holder.actor, *(partner.actor for partner in partners)], len(trees))
            trees.append(_one_tree(holder, taking_part, settings, len(trees), score))
    return trees


def _one_tree(
    holder: LabelHolder, partners: Sequence[Partner], settings: SecureBoostSettings, number: int, score: int
) -> FinishedTree:
    names = (holder.actor.name, *(partner.actor.name for partner in partners))
    holder.actor.publish(boosting.TREE, Tree({"score": Scalar(score), "alone": Scalar(not partners)}))
    holder.start_tree(score)
    holder.owner_names = names
    own = holder.listing()
    owners: list[Owner] = [PlainOwner(own.columns, own.candidates, holder.gradients)]
    message = holder.encrypted() if partners else None
    for partner in partners:
        assert message is not None
        sent = holder.actor.send(boosting.ENCRYPTED_GRADIENTS, partner.actor, message)
        offered = partner.actor.send(boosting.CANDIDATES, holder.actor, partner.start_tree(holder.key.public, sent))
        owners.append(RemoteOwner(holder, partner, number, len(offered.values)))
    grown = grow(owners, holder.gradients, settings.rule, holder, tell_leaves=settings.tell_leaves)
    holder.booster.add(grown, score, settings.rule)
    for node, choice in enumerate(grown.choices):
        if choice is not None and choice.owner == 0:
            holder.keep_split(number, node, own, choice.candidate)
    return FinishedTree(grown, (own, *(partner.current for partner in partners)), score)


def _owner_of_nodes(trees: Sequence[FinishedTree]) -> np.ndarray[Any, np.dtype[np.int64]]:
    choices = [choice for tree in trees for choice in tree.grown.choices]
    return np.array([boosting.LEAF if choice is None else choice.owner for choice in choices], dtype=np.int64)


def _keep_model(
    owners: Sequence[ColumnOwner], trees: Sequence[FinishedTree], model: BoostedModel, settings: SecureBoostSettings
) -> None:
    for owner in owners:
        owner.keep_splits()
    held = held_by_labels(trees, model, owners, reveal_feature=settings.reveal_feature)
    owners[0].actor.record(boosting.FINISHED, boosting.TREES, held)


def _predict_held_out(
    structure: Structure,
    owners: Sequence[ColumnOwner],
    parties: Sequence[Party],
    settings: SecureBoostSettings,
    computation: Actor,
) -> None:
    """Held-out rows, which all parties hold, are predicted as any others would be."""
    held = [party.test for party in parties if party.test is not None and len(party.test.ids)]
    if len(held) < len(parties):
        return
    ids, holder = held[0].ids, owners[0].actor
    parts = [part.features for part in held]
    start_round([computation, *(owner.actor for owner in owners)], structure.model.n_trees)
    holder.publish(boosting.WANTED_ROWS, Array(ids))
    if settings.prediction == "routing":
        scores = predict_by_hops(structure, owners, parts, ids)
    else:
        whole = structure.model.scores(np.hstack(parts))
        scores = np.asarray(computation.send(boosting.SCORES, holder, Array(whole)).values)
    names = tuple(f"score {number}" for number in range(scores.shape[1]))
    holder.record(boosting.WANTED_ROWS, boosting.PREDICTED, Table(names, ids, scores))
