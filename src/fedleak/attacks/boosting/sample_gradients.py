"""Labels from the gradient of every row in plaintext, as vertical XGBoost sends it to all parties and the aggregator.

Of classes a gradient is p - y, whose sign is the label. Of numbers under the squared loss it is w (f - y), with the
row's weight w as hessian, and all scores f start with the one number that is sent as well: y = f - g / h.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.boosting.gradient_signs import SignsOfTree, labels_of_signs, score_of_tree
from fedleak.attacks.boosting.label_holder_sums import integers, numbers
from fedleak.attacks.verdicts import from_assessment, nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Scalar
from fedleak.core.transcript import Message
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.theory.boosted_trees import OpenGradients


class SampleGradients(Attack):
    name = "sample-gradients"
    summary = "reads labels off every row's gradient: classes by its sign, numbers as the first score less it"
    reference = Reference("fedleak", "docs/attacks/sample-gradients.md")
    requires = frozenset({Capability.SAMPLE_GRADIENTS})
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        facts = view.facts.of(boosting.BoostingFacts)
        sent = list(view.at(boosting.SAMPLE_GRADIENTS))
        if not sent or facts.objective is None:
            raise MissingFromViewError("gradients of rows and the objective must be known; the view lacks one of them")
        ids = np.unique(np.concatenate([integers(message.payload, "rows") for message in sent]))
        certain = facts.label_epsilon == 0
        if facts.objective == "squared":
            return _answer(view, ids, _numbers(view, sent[0], ids), "the first score less g / h", certain=certain)
        if facts.n_classes is None:
            raise MissingFromViewError("the number of classes must be known where labels are classes")
        labels = _classes(view, sent, ids, facts.n_classes)
        return _answer(view, ids, labels, "the signs of the gradients are the labels", certain=certain)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(OpenGradients.assess(facts))


def _classes(view: View, sent: list[Message], ids: IntArray, n_classes: int) -> FloatArray:
    """By the first round: later ones only repeat it."""
    found = [
        SignsOfTree(
            np.searchsorted(ids, integers(message.payload, "rows")),
            np.sign(numbers(message.payload, "g")).astype(np.int64),
            score_of_tree(view, message.round),
        )
        for message in sent[: 1 if n_classes == 2 else n_classes]
    ]
    return labels_of_signs(found, len(ids), n_classes)


def _numbers(view: View, sent: Message, ids: IntArray) -> FloatArray:
    first = [message.payload for message in view.at(boosting.FIRST_SCORE)]
    if not first or not isinstance(first[0], Scalar) or not isinstance(first[0].value, float | int):
        raise MissingFromViewError("the score that rows start with must be known to take gradients off it")
    g, h = (numbers(sent.payload, name).astype(np.float64) for name in ("g", "h"))
    found = np.full(len(ids), np.nan)
    counted = h > 0  # a row of weight 0 has no gradient
    places = np.searchsorted(ids, integers(sent.payload, "rows"))[counted]
    found[places] = float(first[0].value) - g[counted] / h[counted]
    return found


def _answer(view: View, ids: IntArray, labels: FloatArray, how: str, *, certain: bool) -> Guess:
    told = np.isfinite(labels)
    if not told.any():
        return nothing(view, "every gradient is zero", {}, width=1, status=Status.UNDETERMINED)
    return Guess(
        view.target,
        Status.RECOVERED if certain and told.all() else Status.PARTIAL,
        ids,
        labels[:, None],
        confidence=np.where(told, 1.0, 0.5)[:, None],
        evidence={"rows told": float(told.mean())},
        why=how,
        certificate=how if certain else "",
    )
