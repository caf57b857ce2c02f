"""The attack on it. It imports the vocabulary and no more: it runs where the protocol must not be loaded."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from toy_protocol import vocabulary as toy


class Subtraction(Attack):
    name = "toy-subtraction"
    summary = "takes the offset off again"
    reference = Reference("fedleak", "tests")
    requires = frozenset({Capability.OWN_FEATURES})
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        offset = view.facts.of(toy.ToyFacts).offset
        sent = [m.payload for m in view.at(toy.SHIFTED_ROWS) if m.sender == view.target.owner]
        if offset is None or not sent or not isinstance(sent[0], Array):
            raise MissingFromViewError(f"{view.target.owner} sent nothing")
        ids = np.asarray(view.table(FEATURES).ids, dtype=np.int64)
        return Guess(view.target, Status.RECOVERED, ids, np.asarray(sent[0].values) - offset)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        own = facts.of(toy.ToyFacts)
        if own.silent is None:
            return Prediction(Verdict.UNKNOWN, ("who sends is not known",))
        blurred = f"noise of deviation {own.blur:g}" if own.blur else "no noise"
        return Prediction(Verdict.PARTIAL if own.blur else Verdict.EXACT, (f"silent: {own.silent}; {blurred}",))
