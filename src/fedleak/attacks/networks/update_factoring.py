"""Rows of a client's batches, from one update of several local steps (FedAvg).

What enters the first fully connected layer does not move while the client trains, so that the layer's part of the
update still has the rank of the rows; errors are those of the whole course, which is run again (``solved_update``).
Where layers before it are trained their outputs move, and nothing is told. Batches have no order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.client_updates import ClientUpdate, client_updates
from fedleak.attacks.networks.solved_update import NEAR, SolvedUpdate, solved_update
from fedleak.attacks.verdicts import from_assessment, nothing
from fedleak.core.adversary import Capability, SecretKind, Symmetry
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.one_update import OneUpdate

PRECISE = 1e-2  # expected error of a row, of the rows' spread: what is called recovered
CAUTION = 5.0  # times the expected error: rows were off by up to twice of it


@dataclass(frozen=True)
class UpdateFactoring(Attack):
    name = "update-factoring"
    summary = "solves one update of several local steps of a fully connected network for the rows of its batches"
    reference = Reference("fedleak", "docs/attacks/update-factoring.md")
    requires = frozenset({Capability.NETWORK, Capability.LAYER_UPDATES})
    produces = SecretKind.FEATURES
    up_to = frozenset({Symmetry.ROW_ORDER})
    preloads = ("torch", "scipy.optimize", "scipy.sparse.linalg", "scipy.special")

    updates: int = 4  # that are solved, at most

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(OneUpdate.assess(facts), if_fails=Verdict.UNKNOWN)

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = _Found()
        for seen in client_updates(view, view.target.owner):
            if found.tried == self.updates:
                break
            if found.is_new(seen):
                found.add(seen, solved_update(seen, rng))
        return found.guess(view)


class _Found:
    """Rows of updates, one after the other; without ids, rows count from 0."""

    def __init__(self) -> None:
        self.tried = 0
        self._ids: list[int] = []
        self._rows: list[FloatArray] = []
        self._sure: list[bool] = []
        self._why = ""
        self._evidence: dict[str, ScalarValue] = {}

    def is_new(self, seen: ClientUpdate) -> bool:
        """No row of it was answered before; who cannot tell solves the first update alone."""
        return self.tried == 0 if seen.ids is None else not set(seen.ids.ravel().tolist()) & set(self._ids)

    def add(self, seen: ClientUpdate, solved: SolvedUpdate) -> None:
        self.tried += 1
        self._note(solved)
        if solved.found is None or solved.error is None or solved.found.misfit > NEAR:
            self._why = self._why or solved.why
            return
        sure: BoolArray = np.asarray(CAUTION * solved.error <= PRECISE) & (not solved.why)
        if not sure.all():
            self._why = self._why or solved.why or "rounding of the parameters leaves more than a hundredth open"
        rows, first = solved.found.rows, len(self._ids)
        told = None if seen.ids is None else np.unique(seen.ids)
        self._ids += list(range(first, first + len(rows))) if told is None or len(told) != len(rows) else told.tolist()
        self._rows += list(seen.network.cells_of(rows.reshape(-1, *seen.network.input_shape)))
        self._sure += sure.tolist()

    def _note(self, solved: SolvedUpdate) -> None:
        if solved.equations is not None:
            factors, one = solved.equations.factors, solved.equations.repeated
            visited = "one batch in every step" if one else "rows that differ from step to step"
            self._evidence |= {"rank": factors.n_rows, "gap": factors.gap, "visited": visited}
        if solved.found is not None and solved.error is not None and solved.labels is not None:
            counts = " ".join(map(str, np.bincount(solved.labels)))
            figures = {"misfit": solved.found.misfit, "expected_error": float(solved.error.max())}
            self._evidence |= {**figures, "label_counts": counts, "starts_that_agree": solved.agreeing}

    def guess(self, view: View) -> Guess:
        if not self._rows:
            why = self._why or "no update of the client was seen with its network, its rate and its steps"
            width = max(1, view.facts.party(view.target.owner).n_features or 1)
            return nothing(view, why, self._evidence, width=width, status=Status.UNDETERMINED)
        status = Status.RECOVERED if all(self._sure) else Status.PARTIAL
        ids, rows = np.array(self._ids, dtype=np.int64), np.stack(self._rows)
        return Guess(view.target, status, ids, rows, evidence=self._evidence, why=self._why)
