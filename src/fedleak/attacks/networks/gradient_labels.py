"""Labels from the gradients of embeddings: by length, by direction, by clustering.

Li et al. 2022 ("Label leakage and protection in two-party split learning", arXiv 2102.08504), sections 3.1 and 3.2: the
rarer class is told with less confidence, so that its gradients are longer (norm attack), and gradients of one class
point one way (cosine attack). Theirs looks at one batch; here the figures of a row are averaged over all its visits,
which independent noise does not survive. Names of the two classes are not in the gradients
(``fedleak/embedding-signs``): length and direction take the rarer class for label 1, as the paper does.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.received_gradients import RowGradients, row_gradients
from fedleak.attacks.row_clusters import k_means, sureness
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.protocols.networks.vocabulary import NetworkFacts
from fedleak.theory.condition import State
from fedleak.theory.embedding_signs import EmbeddingSigns

REQUIRES = frozenset({Capability.EMBEDDING_GRADIENTS, Capability.BATCH_IDS})
SURE_SPLIT = 2.0  # standard errors from an even split
RARER = "the rarer class is taken for label 1"


class GradientNormLabels(Attack):
    name = "gradient-norm-labels"
    aliases = ("norm-attack",)
    summary = "takes the rows whose embeddings have the longest gradients for the rarer class, label 1"
    reference = Reference("fedleak", "docs/attacks/gradient-norm-labels.md")
    requires = REQUIRES
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        refused = _not_two_classes(view)
        if refused is not None:
            return refused
        seen = row_gradients(view)
        lengths = seen.means(seen.lengths)
        classes, _ = k_means(lengths[:, None], 2, rng)
        longer = classes == classes[int(np.argmax(lengths))]
        edge = (lengths[longer].min() + lengths[~longer].max()) / 2 if (~longer).any() else float(lengths.mean())
        why = f"gradients longer than {edge:.3g} on average; {RARER}, with the longer ones"
        return _two_sided(view, seen, lengths - edge, why)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return _predicted(facts, "the rarer class has longer gradients once the model knows how rare it is")


class GradientDirectionLabels(Attack):
    name = "gradient-direction-labels"
    aliases = ("cosine-attack",)
    summary = "parts rows by which way their embeddings' gradients point; the smaller part is taken for label 1"
    reference = Reference("fedleak", "docs/attacks/gradient-direction-labels.md")
    requires = REQUIRES
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        refused = _not_two_classes(view)
        if refused is not None:
            return refused
        seen = row_gradients(view)
        along = seen.means(seen.along_main_direction())
        side = along * _rarer_side(along)
        return _two_sided(view, seen, side, f"{np.mean(side > 0):.1%} of the rows point the other way; {RARER}")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return _predicted(facts, "gradients of one class point one way, as far as the top is close to linear")


class GradientClustering(Attack):
    """Any number of classes, whose names stay open."""

    name = "gradient-clustering"
    summary = "clusters rows by the direction of their embeddings' gradients, which is by label, up to the names"
    reference = Reference("fedleak", "docs/attacks/gradient-clustering.md")
    requires = REQUIRES
    produces = SecretKind.LABELS
    up_to = frozenset({Symmetry.CLASS_NAMES})
    measured_by = "label-accuracy"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        seen = row_gradients(view)
        n_classes = view.facts.of(NetworkFacts).n_classes
        if n_classes is None or len(seen.ids) < n_classes:
            why = f"{len(seen.ids)} rows do not part into {n_classes or 'an unknown number of'} classes"
            return nothing(view, why, {}, width=1, status=Status.UNDETERMINED)
        classes, distances = k_means(mean_directions(seen), n_classes, rng)
        return Guess(
            view.target,
            Status.PARTIAL,
            seen.ids,
            classes[:, None].astype(np.float64),
            confidence=sureness(distances)[:, None],
            evidence={"visits a row": len(seen.row) / len(seen.ids), "classes": n_classes},
            why=f"directions of gradients fall into {n_classes} parts; no guarantee comes with it",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return _predicted(facts, "gradients of one class point one way, as far as the top is close to linear")


def mean_directions(seen: RowGradients) -> FloatArray:
    """Of every row, over its visits: of length 1 where all of them agree."""
    return seen.means(seen.gradients / np.maximum(seen.lengths, 1e-300)[:, None])


def _rarer_side(along: FloatArray) -> int:
    """The sign of the smaller part; where noise leaves both alike, of the longer tail: the rarer class is further off,
    and symmetric noise does not change that."""
    excess = 2 * float(np.mean(along > 0)) - 1  # 0, give or take 1 / sqrt(rows), where nothing but luck decides
    if abs(excess) * np.sqrt(len(along)) > SURE_SPLIT:
        return -1 if excess > 0 else 1
    return 1 if float(np.mean((along - along.mean()) ** 3)) > 0 else -1


def _not_two_classes(view: View) -> Guess | None:
    n_classes = view.facts.of(NetworkFacts).n_classes
    if n_classes == 2:
        return None
    why = f"two classes must be there to be told apart by one figure; got {n_classes or 'an unknown number'}"
    return nothing(view, why, {}, width=1, status=Status.UNDETERMINED)


def _two_sided(view: View, seen: RowGradients, side: FloatArray, why: str) -> Guess:
    """``side``: above 0 for label 1, the surer the further; in units of its own spread."""
    spread = float(np.std(side)) or 1.0
    return Guess(
        view.target,
        Status.PARTIAL,
        seen.ids,
        (side > 0).astype(np.float64)[:, None],
        confidence=(1 / (1 + np.exp(-np.abs(side) / spread)))[:, None],
        evidence={"visits a row": len(seen.row) / len(seen.ids), "share of label 1": float(np.mean(side > 0))},
        why=f"{why}; no guarantee comes with it",
    )


def _predicted(facts: Facts, otherwise: str) -> Prediction:
    if facts.capabilities is not None and not facts.capabilities >= REQUIRES:
        return Prediction(Verdict.IMPOSSIBLE, ("no gradient of an embedding is received",))
    assessment = EmbeddingSigns.assess(facts)
    if assessment.state is State.HOLDS:
        return Prediction(Verdict.PARTIAL, (f"{assessment.theorem}: {assessment.conclusion}", *assessment.reasons))
    return Prediction(Verdict.UNKNOWN, (f"{otherwise}; no theorem bounds it", *assessment.reasons))
