"""Every example runs, and ends as its head says."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import load_scenario
from fedleak.core.finding import Finding, Outcome
from fedleak.core.whole.run import MemorySink
from fedleak.storage.capture_and_truth import load_capture, load_truth
from fedleak.trial.progress import Silent
from scenarios import KEY

EXAMPLES = Path(__file__).parents[2] / "examples"
SCENARIOS = sorted(EXAMPLES.glob("*.toml"))
AUDITED = [path for path in SCENARIOS if "\n# expect: " in path.read_text(encoding="utf-8")]  # all others: test_checked
OUTCOMES = {
    "leaks": Outcome.LEAK,
    "does not leak": Outcome.NO_LEAK,
    "is not identifiable": Outcome.NOT_IDENTIFIABLE,
    "is undetermined": Outcome.UNDETERMINED,
}
EXPECTATION = re.compile(rf"# expect: (\S+) by (.+?)(?: under (\S+))? ({'|'.join(OUTCOMES)})")
Case = tuple[str, tuple[str, ...], str | None]


def expected(text: str) -> dict[Case, Outcome]:
    """From lines "# expect: ATTACK by PARTY + PARTY [under DEFENSE] OUTCOME"; one that cannot be read is an error."""
    found: dict[Case, Outcome] = {}
    for line in text.splitlines():
        if line.startswith("# expect"):
            match = EXPECTATION.fullmatch(line)
            assert match, f"cannot read {line!r}"
            attack, parties, defense, outcome = match.groups()
            found[attack, tuple(parties.split(" + ")), defense] = OUTCOMES[outcome]
    return found


def case_of(finding: Finding) -> Case:
    return finding.attack, finding.adversary, finding.defense and finding.defense.partition("(")[0]


@pytest.mark.parametrize("path", AUDITED, ids=lambda path: path.stem)
def test_a_scenario_ends_as_its_head_says(path: Path) -> None:
    wanted = expected(path.read_text(encoding="utf-8"))
    scenario = load_scenario(path)
    audit = Audit(scenario, plan_audit(scenario), lambda name: MemorySink(), Silent(), run_key=KEY)
    audit.run()
    outcomes = {case_of(finding): finding.outcome for finding in audit.report().findings}
    assert {case: outcomes.get(case) for case in wanted} == wanted
    assert Outcome.ERRORED not in outcomes.values()


def test_all_examples_are_there() -> None:
    names = {"small_batch_labels", "arbiter_collusion", "predictions", "averaged_models", "defended"}
    assert names <= {path.stem for path in AUDITED}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    others = [path.name for path in EXAMPLES.iterdir() if path.suffix in (".toml", ".py", ".ipynb")]
    assert [name for name in others if f"`{name}`" not in listed] == []


def test_expectations_are_read() -> None:
    line = "# expect: residual-sign by bank + referee under larger-batch is not identifiable"
    assert expected(line) == {("residual-sign", ("bank", "referee"), "larger-batch"): Outcome.NOT_IDENTIFIABLE}
    with pytest.raises(AssertionError, match="cannot read"):
        expected("# expect: residual-sign by bank explodes")


def test_the_script_recovers_every_hidden_cell(capsys: pytest.CaptureFixture[str]) -> None:
    report = runpy.run_path(str(EXAMPLES / "own_model.py"))["report"]
    assert [(finding.attack, finding.outcome) for finding in report.findings] == [("equality-solving", Outcome.LEAK)]
    assert report.findings[0].cells_recovered == 1.0
    assert "equality-solving" in capsys.readouterr().out


def test_the_training_loop_is_captured_in_a_few_lines(tmp_path: Path) -> None:
    """Its own lines are those of any such loop; ``fedleak audit --transcript`` is tried on it in tests/cli."""
    script = EXAMPLES / "captured_training.py"
    accuracy = runpy.run_path(str(script))["train"](str(tmp_path / "capture"), str(tmp_path / "truth"))
    assert accuracy > 0.8
    added = [
        line for line in script.read_text(encoding="utf-8").splitlines() if "recorder." in line.replace("fedleak.", "")
    ]
    assert len(added) <= 10
    captured = load_capture(tmp_path / "capture")
    assert set(captured.locals) == {"fintech"}, "what the bank holds is in the truth alone"
    assert len(load_truth(tmp_path / "truth").secrets) == 3


def test_the_notebook_runs_and_holds_no_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its cells in order, as plain Python: Jupyter is not needed to know that they work."""
    notebook = json.loads((EXAMPLES / "first_audit.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), "first_audit.ipynb", "exec"), names)
    shown = capsys.readouterr().out
    assert "residual-recovery on residuals -> exact" in shown
    assert "residual-sign on labels of bank -> exact" in shown
    assert "residual-sign labels of bank leak high auc 1.000" in shown


def test_the_script_on_boosted_trees_shows_what_parties_see(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(EXAMPLES / "boosted_trees.py"))
    assert found["hops"] > 0
    told = capsys.readouterr().out
    assert "bank receives setup.gradient-key (1), train.candidate-sums" in told
    assert "partner receives setup.gradient-key (1), train.chosen-split" in told
