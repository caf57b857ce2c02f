"""Ceilings beside findings: shown where they hold, never below an attack, and a contradiction is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.finding import Better, Finding, Mode, Outcome, Score, Severity, Theory
from fedleak.core.knowledge import Knowledge
from fedleak.core.steps import Role
from fedleak.core.whole.run import MemorySink
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.metric import Answered
from fedleak.protocols.linear.vocabulary import VerticalLogisticFacts
from fedleak.trial.ceilings import ABOVE, with_ceiling
from fedleak.trial.progress import Silent
from scenarios import KEY, SMALL

LABELS = Secret(SecretKind.LABELS, "bank")
FACTS = Facts(
    "vertical-logistic",
    (PartyFacts("bank", Role.ACTIVE, 10, 20.0), PartyFacts("fintech", Role.PASSIVE, 20, 20.0)),
    n_rows=80,
    batch_size=16,
    n_epochs=3,
    learning_rate=0.09,
    approximation="taylor",
    score_noise=20.0,
    max_row_norm=1.0,
    own=VerticalLogisticFacts(gradients="encrypted-exchange", epsilon=0.5, delta=0.1),
    adversary=("fintech",),
)


def finding(value: float, half: float) -> Finding:
    score = Score("auc", value, 0.5, Better.HIGHER, (value - half, min(value + half, 1.0)), 100)
    leaks = score.beats_baseline
    return Finding(
        ("fintech",),
        Mode.PASSIVE,
        "residual-sign",
        LABELS,
        "gaussian-noise",
        Outcome.LEAK if leaks else Outcome.NO_LEAK,
        "signs",
        Theory("unknown", ()),
        Severity.LOW if leaks else Severity.NONE,
        score,
        population=score,
    )


def answered(share_right: float) -> Answered:
    ids, labels = np.arange(200), (np.arange(200) % 2).astype(float)
    said = np.where(np.arange(200) < 200 * share_right, labels, 1 - labels)
    guess = Guess(LABELS, Status.PARTIAL, ids, said[:, None])
    return Answered(guess, SecretValues.spanning(ids, ("label",), labels[:, None]), Knowledge())


def test_a_ceiling_stands_beside_the_attack():
    found = with_ceiling(finding(0.55, 0.1), FACTS, [answered(0.5)])
    assert found.ceiling is not None
    assert 0.59 < found.ceiling.value < 0.61
    assert all(": holds (" in condition for condition in found.ceiling.conditions)
    assert found.outcome is Outcome.NO_LEAK
    assert found.budget is not None
    assert (found.budget.epsilon, found.budget.delta, found.budget.measured_epsilon) == (0.5, 0.1, 0.0)


def test_an_attack_above_the_ceiling_is_a_contradiction_and_no_verdict():
    found = with_ceiling(finding(0.9, 0.05), FACTS, [answered(0.5)])
    assert (found.outcome, found.severity) == (Outcome.ERRORED, Severity.NONE)
    assert found.why.startswith(ABOVE)
    assert found.score is not None


def test_an_attack_at_the_ceiling_may_be_above_it_by_chance():
    assert with_ceiling(finding(0.7, 0.08), FACTS, [answered(0.5)]).outcome is Outcome.LEAK


def test_a_budget_that_is_not_kept_is_told_and_the_leak_stays():
    found = with_ceiling(finding(0.9, 0.05), replace(FACTS, approximation="cubic"), [answered(0.95)])
    assert found.ceiling is None
    assert found.outcome is Outcome.LEAK
    assert "the declared epsilon of 0.5 is not kept: it is at least" in found.why


@pytest.mark.parametrize("changes", [{"population": None}, {"score": None, "population": None}], ids=str)
def test_what_is_not_told_apart_has_no_ceiling(changes):
    found = replace(finding(0.55, 0.1), **changes)
    assert with_ceiling(found, FACTS, []) is found


DEFENSES = """
[[defense]]
name = "gaussian-noise"
sigma = 2.0
[[defense]]
name = "gaussian-noise"
sigma = 8.0
parties = ["fintech"]
[[defense]]
name = "dp-paillier"
"""


ADVERSARY = """
[[adversary]]
parties = ["fintech"]
mode = "active"
attacks = ["residual-sign", "own-weights", "minimum-norm-labels", "packed-residual-sign"]
"""


@pytest.fixture(scope="module")
def defended() -> list[Finding]:
    text = SMALL.replace('[[defense]]\nname = "gaussian-noise"\nsigma = 200.0\n', DEFENSES)
    both = '[[adversary]]\nparties = ["fintech"]\n[[adversary]]\nparties = ["bank"]\n'
    text = text.replace(both, ADVERSARY)
    text = text.replace("max_rows = 100", "max_rows = 150")
    scenario = parse_scenario(text)
    means = Means(repeats=5, isolated=False)
    work = Audit(scenario, plan_audit(scenario), lambda _: MemorySink(), Silent(), means, run_key=KEY)
    work.run()
    return [found for found in work.report().findings if found.recovery is not None]


def test_no_attack_on_defended_scenarios_exceeds_its_ceiling(defended):
    bounded = [found for found in defended if found.ceiling is not None]
    assert {found.defense for found in bounded} == {"gaussian-noise(sigma=2.0)", "dp-paillier"}
    assert len(bounded) == 8, "each attack under each noise of the bank's"
    for found in bounded:
        assert found.outcome in {Outcome.LEAK, Outcome.NO_LEAK}
        assert found.recovery.ci[0] <= found.ceiling.value, found
    near = [found for found in bounded if found.attack == "packed-residual-sign" and "2.0" in found.defense]
    assert near[0].recovery.ci[1] >= near[0].ceiling.value - 0.02, "the bound is no empty one"
    assert near[0].outcome is Outcome.LEAK


def test_noise_of_the_adversary_alone_gives_no_ceiling(defended):
    alone = [found for found in defended if found.defense and "parties" in found.defense]
    assert alone
    assert all(found.ceiling is None for found in alone)
    assert any(found.outcome is Outcome.LEAK for found in alone)


def test_the_declared_budget_is_kept(defended):
    budgets = [found.budget for found in defended if found.defense == "dp-paillier"]
    assert budgets
    assert all(budget is not None and budget.measured_epsilon <= budget.epsilon for budget in budgets)
    assert all(found.budget is None for found in defended if found.defense != "dp-paillier")
