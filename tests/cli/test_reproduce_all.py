"""``fedleak reproduce PAPER`` lists, ``fedleak reproduce all`` writes one page of everything and can be ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine_here import Here
from fedleak.cli import main, measure
from fedleak.core.attack import Reference
from fedleak.core.errors import DataError
from fedleak.core.registry import Entry, Registry
from fedleak.papers import EXPERIMENTS
from fedleak.papers.experiment import Bundled, Experiment, Row
from fedleak.papers.kept_results import kept_result
from fedleak.papers.paper_page import differences, page, shown
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.progress import Progress

RESULTS = Path(__file__).parents[2] / "docs" / "results"


class Kept(Experiment):
    name = "none/kept"
    summary = "a figure that is off, and one that is <near>"
    reference = Reference("none", "table 1")
    needs = Bundled.ALWAYS
    computed = 0

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        type(self).computed += 1
        yield Row({"rows": 7}, {"error": 0.3, "time": 1.01}, {"error": 0.2, "time": 1.0}, {"error": 0.9}, "other data")


class Lacking(Kept):
    name = "none/lacking"
    needs = Bundled.NO

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        raise DataError("the table must be there")
        yield


class Ended(Kept):
    name = "none/ended"
    ends = True

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        if Ended.ends:
            raise KeyboardInterrupt
        yield Row({"rows": 9}, {"error": 0.5})


class InPieces(Kept):
    name = "none/in-pieces"

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        yield Row({}, {"error": self.kept.measured(["piece"], lambda: 7.0)})


@pytest.fixture(autouse=True)
def own_experiments(monkeypatch, tmp_path):
    entries = [Entry(kind.name, f"{__name__}:{kind.__name__}") for kind in (Kept, Lacking, Ended)]
    monkeypatch.setattr(measure, "EXPERIMENTS", Registry[Experiment]("experiment", entries))
    monkeypatch.setattr(Kept, "computed", 0)
    monkeypatch.setattr(Ended, "ends", False)
    monkeypatch.chdir(tmp_path)


def code_of(monkeypatch, *arguments: str) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["fedleak", "reproduce", *arguments])
    with pytest.raises(SystemExit) as end:
        main.run()
    return end.value.code


def test_a_paper_lists_its_experiments_and_one_to_begin_with(monkeypatch, capsys):
    assert code_of(monkeypatch, "none") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("none/kept", "none/lacking", "none/ended"))
    assert "fedleak reproduce none/kept --quick" in shown
    assert Kept.computed == 0
    assert code_of(monkeypatch, "none", "--json", "-") == 2
    assert "must go with one PAPER/EXPERIMENT" in capsys.readouterr().err


def test_one_page_has_every_experiment_with_its_differences_or_the_reason(monkeypatch, capsys, tmp_path):
    assert code_of(monkeypatch, "all", "--quick") == 0
    assert "2 experiments with figures, 1 without" in capsys.readouterr().out
    text = (tmp_path / "papers.html").read_text()
    assert "With rows 7, error is 0.3 here and 0.2 in the paper, 50% more; other data." in text
    assert "&lt;near&gt;" in text
    assert "time is" not in text
    assert "1 of the paper's 2 figures are met" in text.replace("&#39;", "'")
    assert "Not measured here: the table must be there" in text


def test_an_ended_command_goes_on_with_what_is_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(Ended, "ends", True)
    assert code_of(monkeypatch, "all", "--quick", "--out", "page.html") == 130
    assert not (tmp_path / "page.html").exists()
    monkeypatch.setattr(Ended, "ends", False)
    assert code_of(monkeypatch, "all", "--quick", "--out", "page.html") == 0
    assert Kept.computed == 1
    kept = json.loads((tmp_path / "page.results" / "none" / "kept.json").read_text())
    assert kept["complete"] is True


def test_experiments_side_by_side_make_the_same_page(monkeypatch, capsys, tmp_path):
    assert code_of(monkeypatch, "all", "--quick", "--out", "alone.html") == 0
    asked = []

    def here(name, jobs):
        asked.append((name, jobs))
        return Here()

    monkeypatch.setattr(measure, "engine_named", here)
    assert code_of(monkeypatch, "all", "--quick", "--out", "together.html", "--jobs", "2") == 0
    assert asked == [(None, 2)]
    alone, together = ((tmp_path / f"{name}.html").read_text() for name in ("alone", "together"))
    for text in ("With rows 7, error is 0.3 here", "Not measured here: the table must be there", "none/ended"):
        assert text in alone
        assert text in together
    assert (tmp_path / "together.results" / "none" / "kept.json").is_file()
    assert "2 experiments with figures, 1 without" in capsys.readouterr().out


def test_side_by_side_an_ended_command_goes_on_as_well(monkeypatch):
    monkeypatch.setattr(measure, "engine_named", lambda *_: Here(ends_after=1))
    assert code_of(monkeypatch, "all", "--quick", "--jobs", "2") == 130
    monkeypatch.setattr(measure, "engine_named", lambda *_: Here())
    assert code_of(monkeypatch, "all", "--quick", "--jobs", "2") == 0
    assert Kept.computed == 1


def test_an_experiment_without_pieces_says_that_one_core_measures_it(monkeypatch, capsys):
    assert code_of(monkeypatch, "none/kept", "--jobs", "2") == 0
    assert "none/kept has no pieces to measure side by side" in capsys.readouterr().err


def test_figures_of_a_quick_run_are_none_of_the_whole(monkeypatch, tmp_path):
    for asked, computed in ((["--quick"], 1), ([], 2), (["--quick"], 2), ([], 2)):
        assert code_of(monkeypatch, "all", *asked) == 0
        assert Kept.computed == computed
    assert json.loads((tmp_path / "papers.results" / "none" / "kept.json").read_text())["quick"] is False


def test_side_by_side_what_an_earlier_command_measured_is_not_measured_again(monkeypatch, tmp_path):
    """And the journal goes when the result is there; the result says who measured."""
    journal = tmp_path / "papers.results" / "none" / "in-pieces.json.journal"
    MeasuredJournal(journal).keep(["piece"], 3.0, spent=50.0)
    entry = Entry(InPieces.name, f"{__name__}:InPieces")
    monkeypatch.setattr(measure, "EXPERIMENTS", Registry[Experiment]("experiment", [entry]))
    monkeypatch.setattr(measure, "engine_named", lambda *_: Here())
    assert code_of(monkeypatch, "all", "--quick", "--jobs", "2") == 0
    assert not journal.exists()
    found = json.loads((tmp_path / "papers.results" / "none" / "in-pieces.json").read_text())
    assert [row["measured"]["error"] for row in found["rows"]] == [3.0]
    assert found["cpu_seconds"] >= 50.0
    assert found["provenance"]["engine"] == "this process"


def test_a_result_that_nobody_wrote_is_one_line(monkeypatch, capsys, tmp_path):
    folder = tmp_path / "papers.results" / "none"
    folder.mkdir(parents=True)
    (folder / "kept.json").write_text('{"experiment": "none/kept"}')
    assert code_of(monkeypatch, "all") == 2
    assert "kept.json must be a result that fedleak reproduce wrote" in capsys.readouterr().err


class Balanced(HTMLParser):
    """Counts what is open, and the sections."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sections: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        if tag == "section":
            self.sections.append(str(dict(attrs)["id"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_committed_results_of_every_paper_make_a_page():
    """Those with few rows: it is about their form."""
    found = []
    for experiment in EXPERIMENTS:
        kept = kept_result([RESULTS], experiment.name, quick=False)
        if kept is not None and len(kept[1].rows) <= 40:
            found.append(shown(experiment(), kept[1], kept[0]))
    assert {one.name.partition("/")[0] for one in found} == {"hu2022", "jin2021", "li2019", "li2021", "luo2021"}
    text = page(found)
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert parser.sections == [one.name for one in found]
    assert any(one.picture for one in found)
    assert "http" not in text.replace("http://www.w3.org", "")


def test_figures_that_were_not_measured_are_differences_too():
    sentences, n_compared = differences([Row({"rows": 1}, {"error": None}, {"error": 0.5, "other": None})])
    assert n_compared == 1
    assert sentences == ("With rows 1, error was not measured here and 0.5 in the paper.",)


def test_every_paper_has_an_experiment_that_needs_no_file():
    free = {kind.name.partition("/")[0] for kind in EXPERIMENTS if kind.needs is not Bundled.NO}
    assert free == {kind.name.partition("/")[0] for kind in EXPERIMENTS}
