"""The label holder: it encrypts gradients, opens its partners' sums, chooses splits, and checks what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import BoolArray, IntArray
from fedleak.core.errors import ProtocolError
from fedleak.core.payload import Array, CipherArray, Payload, Scalar, Tree
from fedleak.core.steps import Step
from fedleak.core.whole.federation import Party
from fedleak.crypto.blinding import encrypted
from fedleak.crypto.cipher import PrivateKey, concatenate
from fedleak.models.boosting.booster import Booster
from fedleak.models.boosting.growth import Choice, Chooser, Decision, Gradients, Owner, Sums, best_choice
from fedleak.models.boosting.packed_gradients import Layout, Opened, ToEncrypt, bounds, layout_for, plaintexts, sums_in
from fedleak.protocols.actor import Actor
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.boosting.partner import ColumnOwner, Partner
from fedleak.protocols.boosting.row_index import ciphertexts, directions, integers


class LabelHolder(ColumnOwner, Chooser):
    """``owner_names``: whose candidates the choices of the current tree are among."""

    layout: Layout
    gradients: Gradients
    owner_names: tuple[str, ...] = ()

    def __init__(
        self, party: Party, actor: Actor, settings: SecureBoostSettings, key: PrivateKey, booster: Booster
    ) -> None:
        super().__init__(party, actor, settings, offset=0)
        self.key, self.booster = key, booster
        actor.record(boosting.GRADIENT_KEY, boosting.KEY_PAIR, key.to_payload())
        actor.publish(boosting.GRADIENT_KEY, key.public.to_payload())

    def start_tree(self, score: int) -> None:
        settings, booster = self.settings, self.booster
        self.gradients = gradients = booster.gradients(score, self.actor.rng)
        limits = bounds(booster.objective, gradients, settings.sampling.largest_factor)
        self.layout = layout_for(len(gradients.g), settings.fraction_bits, *limits, packed=settings.packed)
        kept = gradients.sampled
        self.actor.record(
            boosting.GRADIENTS,
            boosting.OWN_GRADIENTS,
            Tree(
                {
                    "rows": Array(self.index.ids[kept]),
                    "g": Array(gradients.g[kept]),
                    "h": Array(gradients.h[kept]),
                    "fraction_bits": Scalar(gradients.fraction_bits),
                }
            ),
        )

    def encrypted(self) -> Tree:
        """Encrypted once a tree; every partner gets the same ciphertexts."""
        wanted: ToEncrypt = self.actor.compute(
            boosting.GRADIENTS, self.gradients, lambda gradients: plaintexts(gradients, self.layout)
        )
        public, bits = self.key.public, self.settings.fraction_bits
        values = concatenate([encrypted(public, part, bits, self.settings.blinding) for part in wanted.values])
        rows = Array(self.index.ids[self.gradients.sampled])
        return Tree({"rows": rows, "values": values, "slot_bits": Scalar(wanted.slot_bits)})

    def opened(self, sums: CipherArray, n_sums: int) -> Sums:
        residues = self.key.decrypt(sums)
        inputs = Opened(residues, self.key.public.modulus, n_sums, self.layout)
        found: Sums = self.actor.compute(boosting.OPENED_SUMS, inputs, sums_in)
        return found

    def choose(self, decision: Decision) -> Choice | None:
        choice: Choice | None = self.actor.compute(boosting.CHOOSE, decision, best_choice)
        owner = "" if choice is None else self.owner_names[choice.owner]
        candidate = boosting.LEAF if choice is None else choice.candidate
        found = {"node": Scalar(decision.node), "owner": Scalar(owner), "candidate": Scalar(candidate)}
        self.actor.record(boosting.CHOOSE, boosting.CHOICE, Tree(found))
        return choice

    def check(self, decision: Decision, choice: Choice, left: BoolArray) -> None:
        """The rows that go left must have the sums that the candidate was chosen for: integers, so exactly."""
        if not self.settings.verify:
            return
        offered, routed = decision.offered[choice.owner], self.gradients.sums(decision.rows[left])
        if offered.g[choice.candidate] != routed.g[0] or offered.h[choice.candidate] != routed.h[0]:
            raise ProtocolError(
                f"{self.owner_names[choice.owner]} must route rows at node {decision.node} as the sums say that it "
                "offered; the rows that it sends left have others. It answers inconsistently, or a defense changed "
                "one of the two: then set [federation] verify = false"
            )


class RemoteOwner(Owner):
    """A partner's columns, met by messages."""

    def __init__(self, holder: LabelHolder, partner: Partner, tree: int, n_candidates: int) -> None:
        self._holder, self._partner, self._tree, self._n = holder, partner, tree, n_candidates
        self._rows_of: Mapping[int, IntArray] = {}
        self._level = 0

    def announce(self, level: int, rows_of: Mapping[int, IntArray], wanted: Sequence[int]) -> None:
        self._rows_of, self._level = rows_of, level
        rows = np.concatenate(list(rows_of.values()))
        nodes = np.repeat(list(rows_of), [len(part) for part in rows_of.values()])
        order = np.argsort(rows)
        message: dict[str, Payload] = {
            "level": Scalar(level),
            "rows": Array(self._holder.index.ids[rows[order]]),
            "nodes": Array(nodes[order].astype(np.int64)),
            "wanted": Array(np.array(wanted, dtype=np.int64)),
        }
        self._partner.take_node_rows(self._sent(boosting.NODE_ROWS, Tree(message)))

    def sums(self, wanted: Sequence[int]) -> Mapping[int, Sums]:
        if not wanted:
            return {}
        holder, actor = self._holder, self._partner.actor
        message = actor.send(boosting.CANDIDATE_SUMS, holder.actor, self._partner.sums())
        if integers(message, "nodes").tolist() != list(wanted):
            raise ProtocolError(f"{actor.name} must answer about the nodes {list(wanted)}; got others")
        opened = holder.opened(ciphertexts(message, "sums"), len(wanted) * self._n)
        g, h = opened.g.reshape(len(wanted), self._n), opened.h.reshape(len(wanted), self._n)
        kept: dict[str, Payload] = {
            "level": Scalar(self._level),
            "nodes": Array(np.array(wanted, dtype=np.int64)),
            "g": Array(g),
            "h": Array(h),
        }
        holder.actor.record(boosting.OPENED_SUMS, boosting.SUMS_OF.of(actor.name), Tree(kept))
        return {node: Sums(g[place], h[place]) for place, node in enumerate(wanted)}

    def route(self, chosen: Mapping[int, int]) -> Mapping[int, BoolArray]:
        if not chosen:
            return {}
        holder, actor = self._holder, self._partner.actor
        nodes, candidates = (np.array(list(part), dtype=np.int64) for part in (chosen, chosen.values()))
        request = self._sent(boosting.CHOSEN_SPLIT, Tree({"nodes": Array(nodes), "candidates": Array(candidates)}))
        answer = actor.send(boosting.ROUTING, holder.actor, self._partner.take_chosen(request, self._tree))
        asked = np.concatenate([self._rows_of[node] for node in chosen])
        told = holder.index.positions(integers(answer, "rows"))
        lengths = [len(self._rows_of[node]) for node in chosen]
        if not np.array_equal(np.sort(told), np.sort(asked)):
            raise ProtocolError(f"{actor.name} must route the {len(asked)} rows of its nodes; got {len(told)} others")
        left = np.zeros(len(holder.index.ids), dtype=bool)
        left[told] = directions(answer, len(asked), actor.name)
        masks = np.split(left[asked], np.cumsum(lengths)[:-1])
        return dict(zip(chosen, masks, strict=True))

    def _sent(self, step: Step[Tree], message: Tree) -> Tree:
        return self._holder.actor.send(step, self._partner.actor, message)
