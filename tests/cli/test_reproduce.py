"""``fedleak reproduce``: what cannot be delivered is refused before anything is computed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fedleak.cli import main
from fedleak.cli import measure as command
from fedleak.core.attack import Reference
from fedleak.core.registry import Entry, Registry
from fedleak.papers import EXPERIMENTS
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.summaries import mean_max, standard_error, student_95
from fedleak.trial.progress import Progress


class Plain(Experiment):
    """A table of two rows, without a picture."""

    name = "none/plain"
    summary = "two rows"
    reference = Reference("none", "none")
    computed = 0

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        Plain.computed += 1
        yield Row({"rows": 111}, {"error": 0.25})
        yield Row({"rows": 222}, {"error": 0.5})


class Drawn(Plain):
    name = "none/drawn"

    def panels(self, rows):
        return (Panel("errors", "rows", "error", [Curve("ours", [111, 222], [0.25, 0.5])]),)


class Banded(Plain):
    """Two kinds of bands in one table, one of them without width in the first row."""

    name = "none/banded"

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        for rows, runs in ((111, [0.5, 0.5]), (222, [0.25, 0.75])):
            summary = student_95("error", runs) | mean_max("worst", runs) | {"plain": 1.0}
            yield Row({"rows": rows}, summary.figures, bands=summary.bands)


class OneKind(Plain):
    name = "none/one-kind"

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        summary = standard_error("error", np.array([0.25, 0.75]))
        yield Row({"rows": 111}, summary.figures, bands=summary.bands)


class Interrupted(Drawn):
    name = "none/interrupted"

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        yield next(super().rows(quick=quick, progress=progress))
        raise KeyboardInterrupt


class Wide(Plain):
    name = "none/wide"

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        yield Row({"rows": 111}, {f"a_figure_with_a_long_name_{number}": 0.12345 for number in range(9)})


@pytest.fixture(autouse=True)
def own_experiments(monkeypatch):
    kinds = (Plain, Drawn, Banded, OneKind, Interrupted, Wide)
    entries = [Entry(kind.name, f"{__name__}:{kind.__name__}") for kind in kinds]
    monkeypatch.setattr(command, "EXPERIMENTS", Registry[Experiment]("experiment", entries))
    monkeypatch.setattr(Plain, "computed", 0)


def code_of(monkeypatch, *arguments: object) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["fedleak", "reproduce", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main.run()
    return end.value.code


def assert_refused(monkeypatch, capsys, *arguments: object, because: str) -> None:
    assert code_of(monkeypatch, *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert because in shown.err
    assert Plain.computed == 0


def test_a_picture_of_a_table_is_refused(tmp_path, monkeypatch, capsys):
    target = tmp_path / "picture.svg"
    assert_refused(monkeypatch, capsys, "none/plain", "--picture", target, because="none/plain has no picture")


@pytest.mark.parametrize("name", ["picture", "picture.docx", "a-file/picture.svg", "a-file/x/picture.svg", "x.svg"])
def test_a_picture_that_cannot_be_written_is_refused(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "a-file").write_text("")
    (tmp_path / "x.svg").mkdir()
    before = sorted(tmp_path.iterdir())
    assert_refused(monkeypatch, capsys, "none/drawn", "--picture", tmp_path / name, because="must be a file that")
    assert sorted(tmp_path.iterdir()) == before


def test_a_picture_without_matplotlib_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    target = tmp_path / "picture.svg"
    assert_refused(monkeypatch, capsys, "none/drawn", "--picture", target, because="pip install 'fedleak[plot]'")


def test_json_that_cannot_be_written_is_refused(tmp_path, monkeypatch, capsys):
    assert_refused(monkeypatch, capsys, "none/plain", "--json", tmp_path, because="must be a file that")


@pytest.mark.parametrize("name", ["picture.svg", "picture.PNG", "a new folder/picture.png"])
def test_a_picture_is_drawn_beside_the_table(name, tmp_path, monkeypatch, capsys):
    assert code_of(monkeypatch, "none/drawn", "--picture", tmp_path / name) == 0
    assert "222" in capsys.readouterr().out
    assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize("picture", [True, False])
def test_an_interruption_keeps_and_prints_the_rows_so_far(picture, tmp_path, monkeypatch, capsys):
    result, drawing = tmp_path / "result.json", tmp_path / "picture.svg"
    more = ("--picture", drawing) if picture else ()
    assert code_of(monkeypatch, "none/interrupted", "--json", result, *more) == 130
    shown = capsys.readouterr()
    assert "111" in shown.out
    assert "222" not in shown.out
    assert "interrupted; the rows so far are kept" in shown.err
    kept = json.loads(result.read_text())
    assert kept["complete"] is False
    assert [row["setting"]["rows"] for row in kept["rows"]] == [111]
    assert not drawing.exists()


def test_what_has_a_picture_is_known_from_the_class():
    drawn = {experiment.name for experiment in EXPERIMENTS if experiment.has_picture()}
    assert {"hu2022/fig3", "li2021/fig9", "luo2021/fig5"} <= drawn
    assert not {name for name in drawn if Path(name).name.startswith("table")}


def test_json_says_the_kind_of_every_band(monkeypatch, capsys):
    assert code_of(monkeypatch, "none/banded", "--json", "-") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["bands"] for row in rows] == [{"error": "student_95", "worst": "max"}] * 2
    assert code_of(monkeypatch, "none/plain", "--json", "-") == 0
    assert [row["bands"] for row in json.loads(capsys.readouterr().out)["rows"]] == [{}, {}]


def test_the_table_says_in_words_what_its_bands_are(monkeypatch, capsys):
    assert code_of(monkeypatch, "none/banded") == 0
    first, second, *below = capsys.readouterr().out.splitlines()[1:]
    assert "[" not in first
    assert "0.5 [-2.677, 3.677]" in second
    assert "0.5 [≤ 0.75]" in second
    assert below[:2] == [
        "error [low, high]: Student's 95 % interval of the mean",
        "worst [≤ high]: largest of the runs",
    ]
    assert code_of(monkeypatch, "none/one-kind") == 0
    assert "\n[low, high]: one standard error below and above the mean\n" in capsys.readouterr().out
    assert code_of(monkeypatch, "none/plain") == 0
    assert "[" not in capsys.readouterr().out


def test_a_pipe_has_no_edge_that_columns_are_cut_at(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert code_of(monkeypatch, "none/wide") == 0
    head, figures, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["rows", *(f"a_figure_with_a_long_name_{number}" for number in range(9))]
    assert figures.split() == ["111", *["0.1235"] * 9]


def test_a_paper_that_is_not_there_names_the_papers(monkeypatch, capsys):
    assert_refused(monkeypatch, capsys, "nine", because="unknown paper 'nine'. Did you mean \"none\"?")
