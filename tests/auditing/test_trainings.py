"""Further runs of large tables stand on the disk: the same report, and nothing left."""

from __future__ import annotations

import gc
import os

from fedleak.auditing import trainings
from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.auditing.trainings import in_memory
from fedleak.trial.progress import Silent
from scenarios import KEY, changed

SMALL = changed(
    ("max_rows = 100", "max_rows = 60"),
    ('[[adversary]]\nparties = ["bank"]\n', ""),
    ('parties = ["fintech"]', 'parties = ["fintech"]\nattacks = ["residual-sign", "residual-recovery"]'),
)


def findings() -> list[tuple[object, ...]]:
    scenario = parse_scenario(SMALL)
    audit = Audit(scenario, plan_audit(scenario), in_memory, Silent(), Means(repeats=3), run_key=KEY)
    audit.run()
    return [(f.attack, f.defense, f.outcome, f.score, f.why, f.evidence) for f in audit.report().findings]


def test_runs_on_the_disk_give_the_same_report_and_take_their_folders_along(tmp_path, monkeypatch):
    in_memory_alone = findings()
    made: list[str] = []

    class Noted(trainings.TemporarySink):
        def __init__(self) -> None:
            super().__init__()
            made.append(self._folder.path.name)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(trainings, "TemporarySink", Noted)
    monkeypatch.setattr(trainings, "MOST_HELD_BYTES", 0)
    assert findings() == in_memory_alone
    assert len(made) == 4  # two further runs of two plans
    gc.collect()
    assert not set(made) & set(os.listdir(tmp_path))
