"""Names from strangers' files: shown, never obeyed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from fedleak.auditing.scenario_file import load_scenario
from fedleak.cli.console import plain_console
from fedleak.cli.main import app
from fedleak.core.visible_text import MAX_NAME_CHARS, visible, visible_json, visible_name
from fedleak.core.whole.run import Captured
from fedleak.storage.capture_and_truth import load_capture, save_capture

SEED = Path(__file__).parents[1] / "fuzz_seeds" / "capture"
HOSTILE = "\x1b[31mred\x1b]0;title\x07 \u202egnp.exe \u200b\u2028[/red] [bold]\x9b2J\nbank (active)"
OBEYED = set("\x1b\x07\x9b\u202e\u200b\u2028")


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A transcript in which one party has a name that a terminal would obey."""
    found = load_capture(SEED)
    facts = found.transcript.facts
    old = facts.parties[0].name
    parties = (replace(facts.parties[0], name=HOSTILE), *facts.parties[1:])
    messages = [
        replace(one, **{end: HOSTILE for end in ("sender", "receiver") if getattr(one, end) == old})
        for one in found.transcript.messages
    ]
    transcript = replace(found.transcript, facts=replace(facts, parties=parties), messages=messages)
    records = {HOSTILE if name == old else name: records for name, records in found.locals.items()}
    save_capture(Captured(transcript, records), tmp_path / "hostile")
    return tmp_path / "hostile"


def test_inspect_shows_them_and_json_reads_the_same(hostile):
    shown = CliRunner().invoke(app, ["inspect", str(hostile)], catch_exceptions=False)
    assert shown.exit_code == 0
    assert not OBEYED & set(shown.output)
    assert r"\x1b[31mred" in shown.output
    assert "[/red] [bold]" in shown.output.replace("\n", " ")
    told = CliRunner().invoke(app, ["inspect", str(hostile), "--json", "-"], catch_exceptions=False).output
    assert not OBEYED & set(told)
    assert json.loads(told)["parties"][0]["name"] == HOSTILE


def test_a_line_cannot_be_forged():
    assert "\n" not in visible_name(HOSTILE)
    assert visible_name("a" * 10_000) == "a" * MAX_NAME_CHARS + "... (10000 characters)"


def test_every_text_of_a_console_is_made_visible(capsys):
    from rich.table import Table

    grid = Table(HOSTILE)
    grid.add_row(HOSTILE)
    plain_console().print(grid)
    plain_console().print(HOSTILE)
    assert not OBEYED & set(capsys.readouterr().out)


def test_a_drafted_scenario_shows_them_and_reads_the_same(tmp_path):
    """Columns of a stranger's table; raw, an escape code in a remark was no TOML either."""
    mine, partner = "income\x1b[31m", "age\u202e\U000e0041[/red]"
    lines = [f"{mine},{partner},sick", *(f"{i % 7},{i * 3 % 11},{i % 2}" for i in range(40))]
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    out = tmp_path / "scenario.toml"
    words = ["init", str(tmp_path / "people.csv"), "--target", "sick", "--mine", mine, "--partner", partner]
    done = CliRunner().invoke(app, [*words, "--out", str(out)], catch_exceptions=False)
    assert not {"\x1b", "\u202e", "\U000e0041"} & set(done.output + out.read_text(encoding="utf-8"))
    assert [party.columns for party in load_scenario(out).parties] == [(mine,), (partner,)]


@pytest.mark.parametrize("text", ["Zürich 東京 – naïve", "a\n\tb", "\U0001f600"])
def test_ordinary_text_stays(text):
    assert visible(text) == visible_json(text) == text


@pytest.mark.parametrize("text", [HOSTILE, "\U000e0041tag", "\u061c\u200f\ufeff"])
def test_json_keeps_what_it_hides(text):
    told = visible_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(told) == text
    assert told.isprintable()
