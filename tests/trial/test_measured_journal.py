"""What was measured is not measured again, and its time counts."""

from __future__ import annotations

import pytest

from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.papers.experiment import Experiment, Row, reproduce
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.progress import Silent


class TwoPieces(Experiment):
    name = "none/two"
    summary = "two pieces"
    reference = Reference("none", "")
    calls: list[int]

    def seeds(self, *, quick):
        return (0,)

    def rows(self, *, quick, progress):
        for piece in (1, 2):
            yield Row(
                {"piece": piece}, {"figure": self.kept.measured(["piece", piece], lambda piece=piece: self.run(piece))}
            )

    def run(self, piece):
        if piece in self.broken:
            raise KeyboardInterrupt
        self.calls.append(piece)
        return piece * 10.0


def run(path, broken=()):
    experiment = TwoPieces()
    experiment.calls, experiment.broken = [], broken
    return experiment, reproduce(experiment, quick=False, progress=Silent(), kept=MeasuredJournal(path))


def test_an_experiment_goes_on_where_it_was(tmp_path) -> None:
    path = tmp_path / "out.json.journal"
    first, result = run(path, broken=(2,))
    assert (first.calls, result.complete, len(result.rows)) == ([1], False, 1)
    second, result = run(path)
    assert (second.calls, result.complete) == ([2], True)
    assert [row.measured["figure"] for row in result.rows] == [10.0, 20.0]


def test_the_time_of_what_was_measured_before_counts(tmp_path) -> None:
    path = tmp_path / "journal"
    MeasuredJournal(path).keep(["piece", 1], 10.0, spent=5000.0)
    assert run(path)[1].cpu_seconds >= 5000


def test_other_code_is_refused(tmp_path) -> None:
    (tmp_path / "journal").write_text('{"code": "other"}\n')
    with pytest.raises(InputError, match="the journal must be measured by the same code"):
        MeasuredJournal(tmp_path / "journal")


def test_nothing_is_written_before_there_is_something(tmp_path) -> None:
    path = tmp_path / "journal"
    kept = MeasuredJournal(path)
    assert not path.exists()
    kept.keep("a", 1)
    assert path.exists()
    kept.remove()
    assert not path.exists()
