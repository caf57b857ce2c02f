"""Captures that do not mean what their names say are refused, in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedleak.auditing.captured_audit import plan_captured
from fedleak.core.errors import FileFormatError
from fedleak.core.payload import Array, Scalar
from fedleak.core.transcript import Message, Record
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Captured, Run
from fedleak.recorder import Recorder
from fedleak.storage.capture_and_truth import save_capture


def damaged(small: tuple[Federation, Run], folder: Path, **changes: object) -> Path:
    _, result = small
    records = list(result.locals["fintech"])
    extra = changes.get("record")
    if isinstance(extra, Record):
        records.append(extra)
    facts = replace(result.transcript.facts, **changes.get("facts", {}))
    transcript = replace(result.transcript, facts=facts)
    save_capture(Captured(transcript, {**result.locals, "fintech": records}), folder)
    return folder


def test_a_record_of_another_form_than_its_name_is_refused(tmp_path, small):
    folder = damaged(small, tmp_path / "c", record=Record("x", 0, "gradient", Scalar("boo")))
    with pytest.raises(FileFormatError, match="'gradient' of fintech must be of the form Array; got Scalar"):
        plan_captured(folder)


def test_a_gradient_of_another_width_is_refused(tmp_path, small):
    folder = damaged(small, tmp_path / "c", record=Record("x", 0, "gradient", Array(np.zeros(5))))
    with pytest.raises(FileFormatError, match="a value for each of its 8 columns"):
        plan_captured(folder)


@pytest.mark.parametrize("name", ["*", "a\x1b[31m", "x" * 65, "fintech"])
def test_names_that_no_report_could_show_are_refused(tmp_path, small, name):
    parties = small[1].transcript.facts.parties
    facts = {"parties": (replace(parties[0], name=name), parties[1])}
    with pytest.raises(FileFormatError, match="a party's name must be"):
        plan_captured(damaged(small, tmp_path / "c", facts=facts))


def test_parties_without_end_are_refused(tmp_path, small):
    one = small[1].transcript.facts.parties[0]
    many = {"parties": tuple(replace(one, name=f"p{i}") for i in range(201))}
    with pytest.raises(FileFormatError, match="must name 1 to 200 parties; got 201"):
        plan_captured(damaged(small, tmp_path / "c", facts=many))
    with pytest.raises(FileFormatError, match="got 0"):
        plan_captured(damaged(small, tmp_path / "d", facts={"parties": ()}))


def test_rows_that_nobody_holds_are_refused(tmp_path):
    with Recorder(tmp_path / "c", {"bank": "active", "fintech": "passive"}) as recorder:
        recorder.record("fintech", "features", np.ones((2, 2)), ids=[1, 2])
        recorder.message("train.batch", "bank", None, np.array([2, 17]), round=3)
    with pytest.raises(FileFormatError, match="must be rows of fintech's features; got 17 in round 3"):
        plan_captured(tmp_path / "c")


def test_no_scenario_runs_a_captured_run():
    from fedleak.auditing.scenario_file import parse_scenario
    from fedleak.core.errors import ScenarioError

    text = '[data]\nsource = "x"\n[federation]\nprotocol = "captured"\n[[adversary]]\nparties = ["a"]\n'
    with pytest.raises(ScenarioError, match="fedleak audit --transcript DIR"):
        parse_scenario(text)


@pytest.mark.parametrize(
    "facts",
    [
        {"learning_rate": float("nan")},
        {"learning_rate": 0.0},
        {"max_row_norm": 1e-300},
        {"batch_size": 0},
        {"score_noise": float("nan")},
        {"n_rows": -5},
    ],
    ids=str,
)
def test_facts_that_cannot_be_are_refused(tmp_path, small, facts):
    with pytest.raises(FileFormatError, match=f"{next(iter(facts))} must be from"):
        plan_captured(damaged(small, tmp_path / "c", facts=facts))


def test_numbers_that_are_not_finite_are_refused(tmp_path, small):
    folder = damaged(small, tmp_path / "c", record=Record("x", 4, "gradient", Array(np.full(8, np.nan))))
    with pytest.raises(FileFormatError, match="'gradient' of fintech must hold finite numbers; got nan in round 4"):
        plan_captured(folder)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            Message("train.batch", 4, "bank", "*", Array(np.zeros(0, dtype=int))),
            "must name at least one row; got none in",
        ),
        (
            Message("train.averaged-weights", 4, "bank", "*", Array(np.array([np.inf]))),
            "finite numbers; got inf in round 4",
        ),
    ],
)
def test_messages_that_no_attack_can_read_are_refused(message, told, tmp_path, small):
    _, result = small
    transcript = replace(result.transcript, messages=(*result.transcript.messages, message))
    save_capture(Captured(transcript, result.locals), tmp_path / "c")
    with pytest.raises(FileFormatError, match=told):
        plan_captured(tmp_path / "c")
