"""The attacks on it. They import the vocabulary and no more: they run where the protocol must not be loaded."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Tree
from fedleak.core.steps import FEATURES, Step
from fedleak.core.view import View
from toy_protocol import vocabulary as toy

PayloadT = TypeVar("PayloadT")


class Subtraction(Attack):
    name = "toy-subtraction"
    summary = "takes the offset off again"
    reference = Reference("fedleak", "tests")
    requires = frozenset({Capability.OWN_FEATURES})
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return _guess(view, _row_ids(view), _sent(view, toy.SHIFTED_ROWS, Array).values)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        own = facts.of(toy.ToyFacts)
        if own.silent is None:
            return Prediction(Verdict.UNKNOWN, ("who sends is not known",))
        blurred = f"noise of deviation {own.blur:g}" if own.blur else "no noise"
        return Prediction(Verdict.PARTIAL if own.blur else Verdict.EXACT, (f"silent: {own.silent}; {blurred}",))


class SplitSubtraction(Attack):
    name = "toy-split-subtraction"
    summary = "takes the offset off split points"
    reference = Reference("fedleak", "tests")
    requires = frozenset({Capability.OWN_FEATURES})
    produces = SecretKind.THRESHOLDS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        sent = _sent(view, toy.SHIFTED_SPLITS, Tree).items
        nodes, points = sent["nodes"], sent["points"]
        if not isinstance(nodes, Array) or not isinstance(points, Array):
            raise MissingFromViewError("split points must be arrays")
        backwards = slice(None, None, -1)  # nodes are matched by their ids, not by their order
        return _guess(view, np.asarray(nodes.values, dtype=np.int64)[backwards], points.values[backwards])

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        known = facts.of(toy.ToyFacts).n_splits
        return Prediction(Verdict.EXACT if known else Verdict.UNKNOWN, (f"split points of a column: {known}",))


class PictureSubtraction(Attack):
    name = "toy-picture-subtraction"
    summary = "takes the offset off pictures"
    reference = Reference("fedleak", "tests")
    requires = frozenset({Capability.OWN_FEATURES})
    produces = SecretKind.IMAGES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return _guess(view, _row_ids(view), _sent(view, toy.SHIFTED_PICTURES, Array).values)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return Prediction(Verdict.EXACT, ("pictures are sent as they are, but for the offset",))


def _sent(view: View, step: Step[PayloadT], form: type[PayloadT]) -> PayloadT:
    found = [message.payload for message in view.at(step) if message.sender == view.target.owner]
    if not found or not isinstance(found[0], form):
        raise MissingFromViewError(f"{view.target.owner} sent nothing")
    return found[0]


def _row_ids(view: View) -> np.ndarray:
    return np.asarray(view.table(FEATURES).ids, dtype=np.int64)


def _guess(view: View, ids: np.ndarray, shifted: np.ndarray) -> Guess:
    offset = view.facts.of(toy.ToyFacts).offset
    if offset is None:
        raise MissingFromViewError("the offset is not known")
    return Guess(view.target, Status.RECOVERED, ids, np.asarray(shifted) - offset)
