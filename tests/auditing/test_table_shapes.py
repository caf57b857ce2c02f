"""Tables that are long or wide: an audit of them ends like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from federations import run, sealed, vertical
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Outcome
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.run import MemorySink
from fedleak.trial.attempt import Attempt, scored
from fedleak.trial.decide import decide
from fedleak.trial.progress import Silent
from scenarios import KEY, changed

GRAM = Secret(SecretKind.GRAM, "fintech")


def table(folder: Path, n_rows: int, n_columns: int) -> Path:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n_rows, n_columns))
    labels = rows[:, 0] + rng.standard_normal(n_rows) > 0
    header = ",".join([*(f"x{i}" for i in range(n_columns)), "y"])
    path = folder / "table.csv"
    np.savetxt(path, np.column_stack([rows, labels]), fmt="%.6g", delimiter=",", header=header, comments="")
    return path


def audit(path: Path, widths: tuple[int, int], batch_size: int) -> Audit:
    scenario = parse_scenario(
        changed(
            ('source = "sklearn:breast_cancer"', f'source = "{path.as_posix()}"\ntarget = "y"'),
            ("max_rows = 100\n", ""),
            ("batch_size = 8", f"batch_size = {batch_size}"),
            ("epochs = 4", "epochs = 2"),
            ("n_columns = 7", f"n_columns = {widths[0]}"),
            ("n_columns = 23", f"n_columns = {widths[1]}"),
            ('[[defense]]\nname = "gaussian-noise"\nsigma = 200.0\n', ""),
        )
    )
    return Audit(scenario, plan_audit(scenario), lambda name: MemorySink(), Silent(), run_key=KEY)


def errors(work: Audit) -> list[str]:
    return [f"{f.attack}: {f.why}" for f in work.report().findings if f.outcome is Outcome.ERRORED]


def test_an_audit_of_more_than_a_thousand_rows_has_no_error(tmp_path):
    work = audit(table(tmp_path, 1500, 8), (4, 4), batch_size=64)
    work.run()
    assert not errors(work)
    found = {f.attack: f.outcome for f in work.report().findings if f.adversary == ("bank",)}
    assert found["gram-recovery"] is Outcome.NOT_IDENTIFIABLE


def test_an_audit_of_many_more_columns_than_rows_has_no_error(tmp_path):
    work = audit(table(tmp_path, 60, 3000), (1500, 1500), batch_size=16)
    work.run()
    assert not errors(work)
    found = {f.attack: f for f in work.report().findings if f.adversary == ("bank",)}
    assert found["gram-recovery"].outcome is Outcome.NOT_IDENTIFIABLE
    assert "a search needs" in found["gram-recovery"].why


@pytest.fixture(scope="module")
def many_rows():
    federation = vertical({"bank": 2, "fintech": 3}, sealed(epochs=1, batch_size=1250), n_rows=1250)
    return federation.party("fintech").train, run(federation).truth


def test_inner_products_of_many_rows_are_kept_for_a_stated_sample(many_rows):
    train, truth = many_rows
    kept, whole = truth.of(GRAM), train.features @ train.features.T
    assert kept.sampled == "800 of 1250 rows, drawn at random, with all rows"
    place = np.searchsorted(train.ids, kept.ids)
    assert len(set(place)) == 800
    np.testing.assert_allclose(kept.values, whole[place], atol=1e-12)
    np.testing.assert_allclose(kept.ranges, np.column_stack([whole.min(axis=0), whole.max(axis=0)]), atol=1e-12)


def test_a_guess_of_all_inner_products_is_scored_on_the_sample(many_rows, tmp_path):
    train, truth = many_rows
    tasks = audit(table(tmp_path, 40, 8), (4, 4), batch_size=8)._runs[0].tasks
    task = next(task for task in tasks if task.attack.name == "gram-recovery" and task.target == GRAM)
    values = train.features @ train.features.T
    values[:, : len(values) // 2] += 10.0  # half of the cells are far off
    guess = Guess(GRAM, Status.RECOVERED, train.ids, values)
    attempt = Attempt(task.attack, task.adversary.parties, GRAM, Knowledge(), guess, 0.0)
    finding = decide(task.question(None), [scored(attempt, truth, np.random.default_rng(0))])
    assert finding.outcome is Outcome.LEAK
    assert finding.cells_recovered == 0.5
    assert finding.score.n == 800 * 1250
    assert ("scored on", "800 of 1250 rows, drawn at random, with all rows") in finding.evidence
