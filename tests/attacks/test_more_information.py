"""More information never makes an attack worse: more rounds or trees, more known cells or labels, more digits of them.

From least to most, in the attack's own control, by the score that decides, as a mean over seeds; what knows more may be
mistaken about a run, not about all of them. Attacks on predictions have `test_more_knowledge`, beside their tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from fedleak.attacks import ATTACKS
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import load_scenario
from fedleak.calibration.control_runs import CONTROLS
from fedleak.core.adversary import Capability
from fedleak.core.finding import Better
from fedleak.testing.contracts import deciding_score
from fedleak.testing.situations import situation_in

SEEDS = range(2)
SLACK = 0.02  # of the scale of the score: luck of few seeds
NO_ANSWER = -np.inf


@dataclass(frozen=True)
class Ladder:
    """One thing that an adversary may have less or more of: a setting of the protocol, or what it knows beforehand."""

    attack: str
    what: str
    levels: tuple[object, ...]
    known: bool = False  # beforehand

    def __str__(self) -> str:
        return f"{self.attack}: {self.what}"

    def at(self, level: object) -> Scenario:
        scenario = load_scenario(CONTROLS / f"{self.attack}.toml")
        if not self.known:
            return replace(scenario, settings=replace(scenario.settings, **{self.what: level}))
        (adversary,) = scenario.adversaries
        knowledge = replace(adversary.knowledge, **{self.what: level})
        return replace(scenario, adversaries=(replace(adversary, knowledge=knowledge),))


def known(attack: str, what: str, *levels: object) -> Ladder:
    return Ladder(attack, what, levels, known=True)


def seen(attack: str, what: str, *levels: object) -> Ladder:
    return Ladder(attack, what, levels)


LADDERS = (
    known("own-weights", "labels", 0, 3, 8),
    known("model-completion", "labels", 1, 3, 8),
    known("gram-inversion", "cells", 0.3, 0.5, 0.8),
    known("gram-inversion", "decimals", 2, 4, -1),
    known("average-inversion", "cells", 0.3, 0.5, 0.8),
    known("average-inversion", "decimals", 2, 4, -1),
    known("embedding-regression", "cells", 0.2, 0.5, 0.8),
    known("embedding-gram-inversion", "cells", 0.1, 0.3, 0.6),
    known("offered-intervals", "ranges", False, True),
    known("routing-intervals", "ranges", False, True),
    known("threshold-search", "ranges", False, True),
    known("rotation-matching", "kinds", False, True),
    seen("residual-recovery", "epochs", 1, 2, 5),
    seen("residual-sign", "epochs", 1, 2, 5),
    seen("own-weights", "epochs", 2, 8, 20),
    seen("minimum-norm-labels", "epochs", 1, 2, 5),
    seen("bounded-score-labels", "epochs", 1, 2),
    seen("single-column-recovery", "epochs", 1, 2, 4),
    seen("score-recovery", "epochs", 1, 3, 6),
    seen("gram-recovery", "epochs", 4, 12, 30),
    seen("arbiter-collusion", "epochs", 1, 5, 20),
    seen("average-inversion", "rounds", 10, 40, 120),
    seen("column-products", "rounds", 5, 15, 30),
    seen("binary-records", "rounds", 5, 15, 30),
    seen("row-owners", "rounds", 12, 30),
    seen("histogram-decoding", "n_trees", 1, 2, 4),
    seen("member-clustering", "n_trees", 1, 2, 4),
    seen("offered-intervals", "n_trees", 2, 6, 12),
    seen("routing-intervals", "n_trees", 2, 6, 12),
    seen("gradient-separation", "rounds", 5, 30, 80),
    seen("aligned-members", "everybody_at", (), ("bank",)),
    seen("identifier-enumeration", "most_identifiers", 100, 300, 0),
    seen("digest-enumeration", "identifiers", 2**18, 600),
)


def reached(ladder: Ladder, level: object) -> float:
    """The deciding score, higher is better; without an answer less than any."""
    found = []
    for seed in SEEDS:
        case = situation_in(ladder.at(level), ATTACKS.get(ladder.attack), seed=seed)
        score = deciding_score(case.attempt(seed=seed, isolated=False))
        if score is None:
            return NO_ANSWER
        found.append(score.value if score.better is Better.HIGHER else -score.value)
    return float(np.mean(found))


def check_no_worse(ladder: Ladder) -> None:
    values = [reached(ladder, level) for level in ladder.levels]
    for less, more in pairwise(values):
        assert more >= less - SLACK * max(1.0, abs(less)), dict(zip(ladder.levels, values, strict=True))
    assert values[-1] > NO_ANSWER


@pytest.mark.parametrize("ladder", LADDERS, ids=str)
def test_more_is_never_worse(ladder: Ladder) -> None:
    check_no_worse(ladder)


@pytest.mark.parametrize(
    "upside_down", [seen("histogram-decoding", "n_trees", 4, 1), seen("aligned-members", "output", "rows", "size")]
)
def test_the_check_notices_less(upside_down: Ladder) -> None:
    with pytest.raises(AssertionError):
        check_no_worse(upside_down)


def test_every_attack_that_needs_to_know_something_is_on_a_ladder() -> None:
    of_knowledge = {Capability.KNOWN_CELLS, Capability.KNOWN_LABELS, Capability.PUBLIC_SAMPLE}
    needing = {attack.name for attack in ATTACKS.own if attack.requires & of_knowledge}
    # The same computing, on a view that a deviation made larger.
    variants = {"gram-inversion-fake-features", "model-completion-accelerated"}
    assert needing - variants <= {ladder.attack for ladder in LADDERS if ladder.known}
