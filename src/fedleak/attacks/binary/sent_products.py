"""One party's inner products from the weights that it sends in plaintext: the server of plain federated averaging.

What a party sends is the model after its own step. The step over its rows is an affine map of the model, as the sum of
all of them is (Li et al. 2019, section 3.2), but of this party's rows alone: no sum hides whose they are.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.binary.column_products import ColumnProducts, products_guess
from fedleak.attacks.binary.observations import observations_of, sent_updates
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.horizontal_rounds import LinearUpdate


class SentProducts(Attack):
    name = "sent-products"
    summary = "solves the weights that one party sends in plaintext for its columns' inner products"
    reference = Reference("fedleak", "docs/attacks/sent-products.md")
    requires = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS, Capability.ALL_GRADIENTS})
    preloads = ColumnProducts.preloads
    produces = SecretKind.COLUMN_PRODUCTS
    apart = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        updates = sent_updates(view, view.target.owner)
        if not updates:
            raise MissingFromViewError(f"the view holds no weights that {view.target.owner} sent")
        return products_guess(view, observations_of(view, view.target.owner, updates), rng)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and Capability.ALL_GRADIENTS not in facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("nobody's own weights are received",))
        return from_assessment(LinearUpdate.assess(facts), if_fails=Verdict.UNKNOWN)
