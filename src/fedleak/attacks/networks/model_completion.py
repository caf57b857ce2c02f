"""Labels by completing one's own bottom network with a head, learnt on a few rows whose labels are known.

Fu et al. 2022 ("Label inference attacks against vertical federated learning", USENIX Security): the gradients that come
down have taught a passive party's bottom what tells labels apart, and a few labels are enough to read it. Theirs also
trains on rows without labels and steps the bottom on; here a regularised logistic head stands on the last embedding of
a row beside its own columns (see ``models/few_labels.py``). The active party's gradients are not looked at: the
completed model predicts rows that were never trained on too.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import ModelSpec
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.models.few_labels import class_chances
from fedleak.models.layered import layered_of
from fedleak.models.local_batch import LocalBatch
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.vocabulary import NetworkFacts


class ModelCompletion(Attack):
    name = "model-completion"
    aliases = ("mc",)
    summary = "completes its own trained bottom network with a head learnt on a few known labels"
    reference = Reference("fedleak", "docs/attacks/model-completion.md")
    requires = frozenset({Capability.OWN_FEATURES, Capability.OWN_NETWORK, Capability.KNOWN_LABELS})
    produces = SecretKind.LABELS
    preloads = ("torch", "scipy.optimize")

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids, embedded = _embedded_rows(view)
        known = view.knowledge.labels_of(view.target.owner, ids)
        rows = np.flatnonzero(np.isfinite(known))
        classes = known[rows].astype(np.int64)
        if len(np.unique(classes)) < 2:
            why = f"the {len(rows)} known labels of these rows must be of two classes or more"
            return nothing(view, why, {"known labels": len(rows)}, width=1, status=Status.UNDETERMINED)
        chances = class_chances(embedded, rows, classes, _n_classes(view, classes))
        chances[rows] = np.eye(chances.shape[1])[classes]
        return Guess(
            view.target,
            Status.PARTIAL,
            ids,
            np.argmax(chances, axis=1)[:, None].astype(np.float64),
            confidence=chances.max(axis=1)[:, None],
            evidence={"known labels": len(rows), "columns of the head": embedded.shape[1]},
            why=f"a head on its own network, learnt from {len(rows)} known labels; no guarantee comes with it",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and not cls.requires <= facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("it has no network of its own, or knows no label",))
        if facts.of(NetworkFacts).trained is False:
            return Prediction(Verdict.UNKNOWN, ("its network was never trained: it tells what its columns tell",))
        return Prediction(Verdict.UNKNOWN, ("as much as its network learnt of the labels; no theorem bounds it",))


class AcceleratedModelCompletion(ModelCompletion):
    name = "model-completion-accelerated"
    aliases = ("active-mc",)
    summary = "the same after local steps that were made longer, so that the joint network leans on its own bottom"
    deviation = "accelerated-steps"


def _n_classes(view: View, known: IntArray) -> int:
    return max(view.facts.of(NetworkFacts).n_classes or 2, int(known.max()) + 1)


def _embedded_rows(view: View) -> tuple[IntArray, FloatArray]:
    """Own columns of all members, and what their networks at the end make of them."""
    found: list[FloatArray] = []
    ids: IntArray | None = None
    for member in view.coalition:
        if FEATURES.name in view.names(member) and networks.BOTTOM_NETWORK.name in view.names(member):
            table, spec = view.table(FEATURES, member), view.record(networks.BOTTOM_NETWORK, member)
            assert isinstance(spec, ModelSpec)
            ids = np.asarray(table.ids, dtype=np.int64) if ids is None else ids
            network, rows = layered_of(spec), np.asarray(table.values, dtype=np.float64)
            found += [LocalBatch(network, rows).outputs.astype(np.float64), rows]
    if ids is None:
        raise MissingFromViewError("a member's own columns and bottom network must be in the view; got neither")
    return ids, np.hstack(found)
