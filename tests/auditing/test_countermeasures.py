"""Every countermeasure that is ever advised, applied to scenarios that leak: no registered attack has the secret then.

The scenarios are positive controls of attacks and a few variants, so that every theorem that advises something holds in
one of them. Under the countermeasure not the control's own attack is tried, but all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from fedleak.attacks import ATTACKS
from fedleak.auditing.advice_applied import applied
from fedleak.auditing.advisor import remedies
from fedleak.auditing.means import Means
from fedleak.auditing.planner import Task, plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.calibration.control_runs import CONTROLS
from fedleak.core.adversary import Secret
from fedleak.core.finding import Mode, Outcome
from fedleak.core.report import Report
from fedleak.core.whole.run import MemorySink
from fedleak.defenses import DEFENSES
from fedleak.theory import THEOREMS
from fedleak.theory.condition import State
from fedleak.theory.countermeasures import COUNTERMEASURES, Countermeasure
from fedleak.trial.progress import Silent
from scenarios import KEY

LOGISTIC = 'protocol = "vertical-logistic"'
SHOP = '[[federation.parties]]\nname = "shop"\nrole = "passive"\nn_columns = 2\n'
# What stands in a control, and what stands there instead.
VARIANTS = {
    "three parties": ("residual-sign", ("n_columns = 18", "n_columns = 16"), ("[[adversary]]", f"{SHOP}[[adversary]]")),
    "cubic": ("residual-sign", (LOGISTIC, f'{LOGISTIC}\napproximation = "cubic"')),
    "piecewise": (
        "residual-sign",
        (LOGISTIC, f'{LOGISTIC}\napproximation = "piecewise"'),
        ("learning_rate = 0.1", "learning_rate = 0.05"),
    ),
    "an arbiter alone": (
        "arbiter-collusion",
        ('["bank", "referee"]', '["referee"]'),
        ('attacks = ["arbiter-collusion"]', ""),
        ("l2 = 0.01", "shuffle = false"),
        ("epochs = 20", "epochs = 31"),
    ),
}
PLAIN = (
    "aligned-members",
    "arbiter-collusion",
    "average-inversion",
    "binary-records",
    "column-products",
    "digest-enumeration",
    "equality-solving",
    "gram-inversion",
    "identifier-enumeration",
    "packed-residual-sign",
    "residual-sign",
    "sign-system-labels",
    "single-column-recovery",
)
# Whether batches join all rows in time, or known cells are enough, nobody knows beforehand.
NEVER_CERTAIN = {
    "fedleak/divided-lists",
    "fedleak/missing-parties",
    "hu2022/theorem-e.2",
    "hu2022/theorem-f.1",
    "li2019/section-3.2",
    "li2021/section-4.2",
    "li2021/section-4.4",
}


@lru_cache
def scenario_of(name: str) -> Scenario:
    control, *edits = VARIANTS.get(name, (name,))
    text = (CONTROLS / f"{control}.toml").read_text(encoding="utf-8")
    for before, after in edits:
        assert before in text
        text = text.replace(before, after, 1)
    return replace(parse_scenario(text), folder=CONTROLS)


@lru_cache
def tasks_of(name: str) -> tuple[Task, ...]:
    return tuple(task for run in plan_audit(scenario_of(name)) for task in run.tasks)


def advising(name: str) -> dict[str, tuple[Countermeasure, ...]]:
    """The theorems that hold, with what they advise for this protocol."""
    found = {}
    for task in {id(task.facts): task for task in tasks_of(name)}.values():
        for theorem in THEOREMS:
            assessed = theorem.assess(task.facts)
            if assessed.state is State.HOLDS and assessed.remedies:
                found[theorem.name] = tuple(m for m in assessed.remedies if m.fits(task.facts))
    return found


def advised(name: str) -> tuple[Countermeasure, ...]:
    return tuple(dict.fromkeys(measure for measures in advising(name).values() for measure in measures))


SCENARIOS = (*PLAIN, *VARIANTS)


def pairs() -> list[tuple[str, str]]:
    """By name alone, so that nothing is computed when tests are collected."""
    by_protocol = {"average-inversion": "more parties", "equality-solving": "hidden model"}
    by_protocol |= dict.fromkeys(("aligned-members", "digest-enumeration", "identifier-enumeration"), "size alone")
    vertical = [name for name in SCENARIOS if name not in by_protocol]
    updates = [name for name in vertical if name in {"binary-records", "column-products"}]
    arbiter = [name for name in vertical if name in {"arbiter-collusion", "gram-inversion", "an arbiter alone"}]
    shared = [name for name in vertical if name not in {*updates, *arbiter}]
    return [
        *by_protocol.items(),
        *((name, "no arbiter") for name in arbiter),
        *((name, "noise on updates") for name in updates),
        *((name, "secret-shared gradients") for name in shared),
        *((name, "noise on scores") for name in shared if name not in {"cubic", "piecewise"}),
    ]


def test_every_theorem_that_advises_is_tried():
    held = {theorem for name in SCENARIOS for theorem in advising(name)}
    advises = {theorem.name for theorem in THEOREMS if advises_something(theorem.name)}
    assert advises - held == NEVER_CERTAIN
    assert {(name, measure.name) for name in SCENARIOS for measure in advised(name)} <= set(pairs())
    assert {measure for _, measure in pairs()} == {measure.name for measure in COUNTERMEASURES}


def advises_something(name: str) -> bool:
    return bool(THEOREMS.get(name).assess(tasks_of("residual-sign")[0].facts).remedies)


def audited(scenario: Scenario, *, repeats: int = 1) -> Report:
    runs = [run for run in plan_audit(scenario) if run.defense is not None or not scenario.defenses]
    work = Audit(scenario, runs, lambda _: MemorySink(), Silent(), Means(isolated=False, repeats=repeats), run_key=KEY)
    work.run()
    return work.report()


@pytest.mark.parametrize(("name", "measure"), pairs())
def test_what_is_advised_closes_what_leaks(name: str, measure: str):
    chosen = next(one for one in COUNTERMEASURES if one.name == measure)
    changed = applied(scenario_of(name), chosen)
    attacks = tuple(attack.name for attack in ATTACKS if attack.produces in chosen.closes)
    strongest = tuple(replace(one, attacks=attacks, mode=Mode.ACTIVE) for one in changed.adversaries)
    report = audited(replace(changed, adversaries=strongest), repeats=5 if "noise" in measure else 1)
    asked = report.findings
    assert {finding.secret.kind for finding in asked} == chosen.closes
    assert [finding for finding in asked if finding.is_shown] == []
    assert [finding for finding in asked if finding.outcome in {Outcome.ERRORED, Outcome.UNCHECKED}] == []
    measured = {finding.secret for finding in asked if finding.outcome is Outcome.NO_LEAK}
    gave_up = [one for one in asked if one.outcome is Outcome.UNDETERMINED and one.secret not in measured]
    silent = {finding.secret for finding in gave_up if finding.theory.verdict != "impossible"}
    assert silent & (leaking_to(replace(scenario_of(name), adversaries=strongest)) if silent else set()) == set()


def leaking_to(scenario: Scenario) -> set[Secret]:
    """Where an attack is silent with the remedy and without it, there is nothing to close."""
    return {finding.secret for finding in audited(scenario).findings if finding.is_shown}


def test_batches_dealt_anew_still_tell_of_products():
    """Why they are not advised: no update is that of one table, but the products of columns show through."""
    control = scenario_of("column-products")
    changed = replace(
        control, settings=replace(control.settings, batch_size=4), defenses=(DEFENSES.get("fresh-batches")(),)
    )
    assert [finding.outcome for finding in audited(changed).findings] == [Outcome.LEAK]


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_printed_is_what_was_tried(name: str):
    printed = " ".join(remedies(tasks_of(name)))
    assert ("That closes what theory proves: " in printed) is bool(advised(name))
    assert "larger batch" not in printed
    for measure in COUNTERMEASURES:
        assert (measure.words in printed) is (measure in advised(name))


def test_noise_does_not_hide_labels_behind_a_piecewise_sigmoid():
    """Why noise is not advised there: a residual that is not zero keeps its sign, and that is the label."""
    noise = next(one for one in COUNTERMEASURES if one.name == "noise on scores")
    report = audited(applied(scenario_of("piecewise"), noise), repeats=5)
    (finding,) = report.findings
    assert (finding.attack, finding.outcome) == ("residual-sign", Outcome.LEAK)
