"""Planner and runner."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit, plan_check
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.calibration.control_runs import CONTROLS
from fedleak.core.errors import InputError, RunError
from fedleak.core.finding import Outcome
from fedleak.core.whole.run import MemorySink
from fedleak.trial.progress import Silent
from scenarios import KEY, SMALL, changed


def audit(text: str = SMALL, sink=MemorySink) -> Audit:
    scenario = parse_scenario(text)
    return Audit(scenario, plan_audit(scenario), lambda name: sink(), Silent(), run_key=KEY)


def by_key(report) -> dict:
    return {(f.adversary, f.attack, f.defense): f for f in report.findings}


@pytest.fixture(scope="module")
def findings() -> dict:
    work = audit()
    work.run()
    return by_key(work.report())


NOISE = "gaussian-noise(sigma=200.0)"


def test_the_sign_leaks_and_noise_stops_it(findings):
    bare = findings[(("fintech",), "residual-sign", None)]
    assert bare.outcome is Outcome.LEAK
    assert bare.score.value == 1.0
    assert bare.severity.label == "high"
    defended = findings[(("fintech",), "residual-sign", NOISE)]
    assert defended.outcome is Outcome.NO_LEAK
    assert defended.score.value < defended.score.baseline + 0.1


def test_findings_are_decided_on_several_runs(findings):
    """Exact answers stay as they are; under noise every run has its own, and the interval says so."""
    one_attack = ('parties = ["fintech"]', 'parties = ["fintech"]\nattacks = ["residual-sign"]')
    scenario = parse_scenario(changed(one_attack, ('[[adversary]]\nparties = ["bank"]\n', "")))
    reports = []
    for _ in range(2):
        work = Audit(scenario, plan_audit(scenario), lambda _: MemorySink(), Silent(), Means(repeats=3), run_key=KEY)
        work.run()
        reports.append(work.report())
    assert reports[0].repeats == 3
    once, again = (by_key(report) for report in reports)
    bare, noisy = (("fintech",), "residual-sign", None), (("fintech",), "residual-sign", NOISE)
    assert (once[bare].outcome, once[bare].score.value) == (Outcome.LEAK, 1.0)
    for key in (bare, noisy):
        assert once[key].score.n + once[key].population.n == 3 * findings[key].score.n, "each row counts once a run"
        assert once[key].score == again[key].score, "the key fixes all of the runs"
    assert once[noisy].score.value != findings[noisy].score.value


@pytest.mark.parametrize("repeats", [0, -1])
def test_there_is_one_run_at_least(repeats):
    scenario = parse_scenario(SMALL)
    with pytest.raises(InputError, match="repeats must be at least 1"):
        Audit(scenario, (), lambda _: MemorySink(), Silent(), Means(repeats=repeats))


def test_what_does_not_apply_is_skipped_with_the_reason(findings):
    skipped = findings[(("bank",), "residual-sign", None)]
    assert skipped.outcome is Outcome.SKIPPED
    assert skipped.why == "no party outside bank holds labels"
    assert skipped.score is None


def test_noise_of_the_adversary_alone_is_no_defense():
    """The prediction says exact, and the run agrees; under the partner's noise neither does."""
    scenario = changed(("sigma = 200.0", 'sigma = 200.0\nparties = ["fintech"]'))
    work = audit(scenario)
    work.run()
    found = {
        finding.adversary: finding
        for finding in work.report().findings
        if finding.attack == "residual-recovery" and finding.defense is not None
    }
    assert found["fintech",].theory.verdict == "exact"
    assert found["fintech",].cells_recovered == 1.0
    assert found["bank",].theory.verdict != "exact"


def test_attacks_for_other_protocols_are_counted_and_not_listed():
    work = audit()
    report = work.report()
    assert {"column-products", "arbiter-collusion", "path-restriction"} <= set(report.for_other_protocols)
    assert not {finding.attack for finding in report.findings} & set(report.for_other_protocols)
    assert "residual-sign" in {finding.attack for finding in report.findings}


def test_an_attack_for_another_protocol_that_is_named_is_reported_with_the_reason():
    named = changed(('parties = ["fintech"]', 'parties = ["fintech"]\nattacks = ["column-products"]'))
    work = audit(named)
    work.run()
    report = work.report()
    finding = by_key(report)[("fintech",), "column-products", None]
    assert finding.outcome is Outcome.SKIPPED
    assert "vertical-logistic does not give fintech" in finding.why
    assert "column-products" not in report.for_other_protocols


def test_settings_and_defenses_still_say_why_an_attack_is_skipped():
    secret = changed(("learning_rate = 0.1", 'learning_rate = 0.1\ngradients = "secret-shared"'))
    work = audit(secret)
    work.run()
    finding = by_key(work.report())[("fintech",), "residual-sign", None]
    assert finding.outcome is Outcome.SKIPPED
    assert "its own gradient in every round" in finding.why


@pytest.mark.parametrize(("share", "planned"), [("1.0", True), ("0.9999", False)])
def test_who_knows_every_cell_has_nothing_left_to_find(share, planned):
    """0.9999 of 92 rows of 7 columns rounds to all of them, which only the run can tell."""
    text = changed(('parties = ["fintech"]', f'parties = ["fintech"]\n[adversary.knowledge]\ncells = {share}'))
    text = text.replace('parties = ["bank"]', 'parties = ["bank"]\nattacks = ["residual-sign"]')
    runs = plan_audit(parse_scenario(text))
    skips = {task.skip for run in runs for task in run.tasks if task.attack.name == "single-column-recovery"}
    assert any(skips) is planned
    work = audit(text)
    work.run()
    finding = by_key(work.report())[("fintech",), "single-column-recovery", None]
    assert finding.outcome is Outcome.SKIPPED
    assert "nothing is left to find" in finding.why


def test_what_mathematics_forbids_is_no_zero(findings):
    finding = findings[(("bank",), "single-column-recovery", None)]
    assert finding.outcome is Outcome.NOT_IDENTIFIABLE
    assert finding.score is None
    assert finding.cells_recovered is None
    assert finding.theory.verdict == "impossible"


def test_the_same_seed_and_run_key_give_the_same_report(findings):
    again = audit()
    again.run()
    for key, finding in by_key(again.report()).items():
        if finding.score is not None:
            assert finding.score == findings[key].score


def test_advice_names_what_works_and_what_does_not():
    work = audit()
    work.run()
    lines = "\n".join(work.report().advice)
    assert f"{NOISE} stops what fintech learns of residuals (cells-recovered from 1.000 to " in lines
    assert re.search(rf"{re.escape(NOISE)} [a-z ]+ what fintech learns of labels of bank, by own-weights", lines)


def test_an_interruption_keeps_what_is_done():
    class Interrupted(Silent):
        def __init__(self) -> None:
            self.runs = 0

        def begin(self, what: str, total: int | None) -> None:
            self.runs += what.startswith("vertical-logistic")
            if self.runs == 2:
                raise KeyboardInterrupt

    scenario = parse_scenario(SMALL)
    work = Audit(scenario, plan_audit(scenario), lambda name: MemorySink(), Interrupted())
    with pytest.raises(KeyboardInterrupt):
        work.run()
    found = by_key(work.report(unfinished="interrupted"))
    assert found[(("fintech",), "residual-sign", None)].outcome is Outcome.LEAK
    assert found[(("fintech",), "residual-sign", NOISE)].outcome is Outcome.SKIPPED
    assert found[(("fintech",), "residual-sign", NOISE)].why == "interrupted"


def test_a_failing_run_is_errored_and_the_others_go_on():
    class Breaks(MemorySink):
        made = 0

        def __init__(self) -> None:
            super().__init__()
            Breaks.made += 1
            self.number = Breaks.made

        def record(self, party, record):
            if self.number == 1:
                raise RunError("the disk is full")
            super().record(party, record)

    work = audit(sink=Breaks)
    work.run()
    found = by_key(work.report())
    assert found[(("fintech",), "residual-sign", None)].outcome is Outcome.ERRORED
    assert "the disk is full" in found[(("fintech",), "residual-sign", None)].why
    assert found[(("fintech",), "residual-sign", NOISE)].outcome is Outcome.NO_LEAK


def test_check_needs_no_data_and_agrees_with_the_audit():
    scenario = parse_scenario(changed(("sklearn:breast_cancer", "nothing-there.csv")))
    checked = {(t.adversary.parties, t.attack.name): t for run in plan_check(scenario)[:1] for t in run.tasks}
    planned = {
        (t.adversary.parties, t.attack.name): t for run in plan_audit(parse_scenario(SMALL))[:1] for t in run.tasks
    }
    assert {key: task.skip for key, task in checked.items()} == {key: task.skip for key, task in planned.items()}
    key = (("bank",), "residual-recovery")
    without, beside = checked[key].prediction, planned[key].prediction
    assert without.verdict == beside.verdict
    assert [reason.split(":")[0] for reason in without.reasons] == [reason.split(":")[0] for reason in beside.reasons]
    assert any("how many rows the last batch has is not known" in reason for reason in without.reasons)


def test_knowledge_is_drawn_as_declared():
    known = "[adversary.knowledge]\ncells = 0.25\nranges = true\nkinds = true\nsample = 5"
    text = changed(('parties = ["bank"]', f'parties = ["bank"]\n{known}'))
    from fedleak.auditing.declared_knowledge import draw_knowledge

    scenario = parse_scenario(text)
    federation = plan_audit(scenario)[0].federation
    knowledge = draw_knowledge(scenario.adversaries[1].knowledge, federation, ("bank",), np.random.default_rng(0))
    victim = federation.party("fintech").train
    (cells,) = knowledge.cells
    assert len(cells.ids) == round(0.25 * victim.features.size)
    rows = {int(row): index for index, row in enumerate(victim.ids)}
    for row, column, value in zip(cells.ids, cells.columns, cells.values, strict=True):
        assert victim.features[rows[int(row)], column] == value
    assert len(knowledge.columns) == 23
    assert knowledge.columns[0].high == victim.features[:, 0].max()
    assert len(knowledge.samples[0].rows.ids) == 5
    assert not set(knowledge.samples[0].rows.ids) & set(victim.ids)


def test_ciphertexts_without_blinding_stay_real_in_every_run():
    """The ideal cipher has no counterpart of them: a scenario that leaves blinding out is audited all the same."""
    text = (CONTROLS / "unblinded-labels.toml").read_text(encoding="utf-8")
    scenario = parse_scenario(text)
    work = Audit(scenario, plan_audit(scenario), lambda _: MemorySink(), Silent(), Means(repeats=2), run_key=KEY)
    work.run()
    (finding,) = [one for one in work.report().findings if one.attack == "unblinded-labels"]
    assert finding.outcome is Outcome.LEAK
