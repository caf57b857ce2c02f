"""SecureBoost on the paper's tables: vehicle, iris and breast cancer, columns dealt anew for each seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense, Deviation
from fedleak.core.whole.randomness import Randomness
from fedleak.data import DataSpec, load_table
from fedleak.papers.dealing import deal_columns
from fedleak.papers.li2021.printed import BoostedCase
from fedleak.papers.li2021.vertical_run import ATTACKER, VICTIM
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.boosting.secureboost import SecureBoost
from fedleak.trial.play import Played, play

SPECS = {  # as FATE has them: vehicle in [-1, 1], iris in centimetres, breast cancer standardised
    "vehicle": DataSpec(source="vehicle_scale", task="multiclass", scaling="none"),
    "iris": DataSpec(source="iris", task="multiclass", scaling="none"),
    "breast-cancer": DataSpec(source="breast_cancer_wdbc", task="binary", positive=0),
}
N_CLASSES = {"vehicle": 4, "iris": 3, "breast-cancer": 2}
ONE_AGAINST_REST = 1  # the class of a multi-class table that is told from all others


@dataclass(frozen=True)
class BoostedRun:
    """``rounds`` of boosting: of several classes each has a tree a class, unless one is told from the rest."""

    case: BoostedCase
    depth: int
    rounds: int
    one_against_rest: bool = False
    held_out: float = 0.0  # share of the rows, to measure accuracy on

    @property
    def n_trees(self) -> int:
        classes = N_CLASSES[self.case.dataset]
        return self.rounds * (1 if self.one_against_rest or classes == 2 else classes)

    def play(
        self,
        seed: int,
        *,
        defense: Defense | None = None,
        deviation: Deviation | None = None,
        **settings: str | int | float | bool,
    ) -> Played:
        federation = self.federation(seed).with_settings(**settings)
        deviating = ATTACKER if deviation is not None else None
        randomness = Randomness.published(seed, f"li2021/{self.case.dataset}")
        return play(federation, randomness, defense=defense, deviation=deviation, deviating=deviating)

    def federation(self, seed: int) -> Federation:
        rng = np.random.default_rng([seed, self.case.victim_features, 5])
        table = load_table(SPECS[self.case.dataset])
        labels = np.asarray(table.labels)
        labels = (labels == ONE_AGAINST_REST).astype(np.int64) if self.one_against_rest else labels
        columns, order = rng.permutation(table.values.shape[1]), rng.permutation(len(labels))
        n_test = round(self.held_out * len(labels))
        parties = deal_columns(
            np.asarray(table.values),
            table.columns,
            labels,
            {ATTACKER: columns[self.case.victim_features :], VICTIM: columns[: self.case.victim_features]},
            rows=np.sort(order[n_test:]),
            held_out=np.sort(order[:n_test]) if n_test else None,
        )
        settings = SecureBoostSettings(n_trees=self.rounds, depth=self.depth, cipher="sealed")
        return Federation(SecureBoost.name, parties, settings)

    def ranges(self, played: Played) -> Knowledge:
        """The paper's feature range, which is all that the attacker knows of the victim's columns."""
        names = played.federation.party(VICTIM).columns
        low, high = self.case.low, self.case.high
        return Knowledge(columns=tuple(KnownColumn(VICTIM, name, low=low, high=high) for name in names))


def rounds_of(case: BoostedCase) -> int:
    """The paper's number of subtrees in rounds of boosting."""
    classes = N_CLASSES[case.dataset]
    return case.subtrees // (1 if classes == 2 else classes)
