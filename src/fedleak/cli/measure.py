"""Commands that measure: ``fedleak reproduce`` and ``fedleak bench``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click
from rich.console import Group
from rich.table import Table

from fedleak.cli.bar import Bar
from fedleak.cli.console import table_console
from fedleak.cli.output import check_json_target, write_json
from fedleak.cli.reproduce_all import list_paper, reproduce_all
from fedleak.core.errors import ExitCode, InputError, UnknownNameError, nearest_or_list
from fedleak.engines.engine import Engine, engine_named
from fedleak.papers import EXPERIMENTS
from fedleak.papers.experiment import BOUNDS, Band, Experiment, Row, reproduce, result_json
from fedleak.papers.panels import check_picture, draw
from fedleak.trial.measured_journal import MeasuredJournal

ALL = "all"


@dataclass(frozen=True)
class Elsewhere:
    """Where pieces are measured; by default here, one after the other, so that times are of an idle machine."""

    engine: str | None = None
    jobs: int | None = None

    @property
    def found(self) -> Engine | None:
        if self.engine is None and (self.jobs or 1) == 1:
            return None
        return engine_named(self.engine, self.jobs or 1)


def reproduce_command(
    name: str, quick: bool, json: str | None, picture: Path | None, out: Path, elsewhere: Elsewhere
) -> ExitCode:
    paper = name.rstrip("/")
    if name == ALL or any(entry.name.startswith(f"{paper}/") for entry in EXPERIMENTS.entries):
        if json is not None or picture is not None:
            raise InputError(f"--json and --picture must go with one PAPER/EXPERIMENT; got {name!r}")
        if name == ALL:
            return reproduce_all(EXPERIMENTS, quick=quick, out=out, engine=elsewhere.found)
        return list_paper(paper, EXPERIMENTS)
    return _reproduce_one(_named(name)(), quick, json, picture, elsewhere)


def _reproduce_one(
    experiment: Experiment, quick: bool, json: str | None, picture: Path | None, elsewhere: Elsewhere
) -> ExitCode:
    _check_targets(experiment, json, picture)
    kept, engine = MeasuredJournal(_journal_beside(json)), elsewhere.found
    with Bar() as bar:
        if engine is not None and not experiment.pieces(quick=quick):
            bar.note(f"{experiment.name} has no pieces to measure side by side: one core measures it")
        result = reproduce(experiment, quick=quick, progress=bar, kept=kept, engine=engine)
    if json is not None:
        write_json(result_json(result), json)
    if result.complete:
        kept.remove()
    if json != "-":
        table_console().print(_table(result.rows))
        click.echo(f"{len(result.rows)} rows, {len(result.seeds)} seeds, {result.cpu_seconds:.1f} s of CPU time")
        for setting in result.from_true_rows:
            click.echo(f"chosen by the victim's true rows: {setting}")
    if not result.complete:
        drawn = "" if picture is None else "; no picture is drawn of them"
        click.echo(f"fedleak: interrupted; the rows so far are kept{drawn}", err=True)
        return ExitCode.INTERRUPTED
    if picture is not None:
        draw(experiment.panels(result.rows), picture)
    return ExitCode.DONE


def _named(name: str) -> type[Experiment]:
    if "/" not in name:
        papers = tuple(dict.fromkeys(entry.name.partition("/")[0] for entry in EXPERIMENTS.entries))
        raise UnknownNameError(f"unknown paper {name!r}{nearest_or_list(name, papers)}")
    return EXPERIMENTS.get(name)


def _journal_beside(json: str | None) -> Path | None:
    """Pieces of a long run; the same command goes on with them."""
    return None if json is None or json == "-" else Path(f"{json}.journal")


def _check_targets(experiment: Experiment, json: str | None, picture: Path | None) -> None:
    """Before anything is computed: what cannot be drawn or written afterwards."""
    check_json_target(json)
    if picture is None:
        return
    if not experiment.has_picture():
        raise InputError(f"{experiment.name} has no picture; leave --picture out")
    check_picture(picture)


def _table(rows: tuple[Row, ...]) -> Group:
    """Measured figures with the paper's and the baseline's in brackets; what rows share above, notes below."""
    settings = list(dict.fromkeys(key for row in rows for key in row.setting))
    shared = [key for key in settings if len({str(row.setting.get(key)) for row in rows}) == 1] if len(rows) > 1 else []
    figures = [name for name in dict.fromkeys(key for row in rows for key in row.measured) if not name.endswith(BOUNDS)]
    notes = list(dict.fromkeys(row.note for row in rows if row.note))
    varying = [key for key in settings if key not in shared]
    table = Table(*varying, *figures, *(["note"] if len(notes) > 1 else []), box=None, pad_edge=False)
    for row in rows:
        cells = [str(row.setting.get(key, "")) for key in varying]
        number = [str(notes.index(row.note) + 1) if row.note else ""] if len(notes) > 1 else []
        table.add_row(*cells, *(_cell(row, figure) for figure in figures), *number)
    head = ", ".join(f"{key}: {rows[0].setting.get(key)}" for key in shared)
    numbered = [f"{index + 1}: {note}" for index, note in enumerate(notes)] if len(notes) > 1 else notes
    return Group(*([head] if head else []), table, *_band_lines(rows, figures), *numbered)


BANDS_IN_WORDS = {
    Band.STANDARD_ERROR: "[low, high]: one standard error below and above the mean",
    Band.STUDENT_95: "[low, high]: Student's 95 % interval of the mean",
    Band.BOOTSTRAP_95: "[low, high]: 95 % interval by bootstrap",
    Band.MIN_MAX: "[low, high]: smallest and largest of the runs",
    Band.MAX: "[≤ high]: largest of the runs",
}


def _band_lines(rows: tuple[Row, ...], figures: list[str]) -> list[str]:
    """What the bands in the table are; which figures have them, where there are several kinds."""
    kinds: dict[Band, list[str]] = {}
    for figure in figures:
        for kind in dict.fromkeys(row.bands[figure] for row in rows if _band(row, figure)):
            kinds.setdefault(kind, []).append(figure)
    if len(kinds) == 1:
        return [BANDS_IN_WORDS[kind] for kind in kinds]
    return [f"{', '.join(names)} {BANDS_IN_WORDS[kind]}" for kind, names in kinds.items()]


def _band(row: Row, figure: str) -> str:
    """Empty where there is none, or where it has no width."""
    value, low, high = (row.measured.get(name) for name in (figure, f"{figure}_low", f"{figure}_high"))
    if row.bands.get(figure) is Band.MAX:
        return f" [≤ {_shown(high)}]" if value is not None and high is not None and value < high else ""
    return f" [{_shown(low)}, {_shown(high)}]" if low is not None and high is not None and low < high else ""


def _cell(row: Row, figure: str) -> str:
    parts = [_shown(row.measured.get(figure)) + _band(row, figure)]
    for label, source in (("paper", row.paper), ("baseline", row.baseline)):
        if source is not None and source.get(figure) is not None:
            parts.append(f"{label} {_shown(source[figure])}")
    return parts[0] if len(parts) == 1 else f"{parts[0]} ({', '.join(parts[1:])})"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


# By name: the module that measures, and what its ratios say.
BENCHES = {
    "audit": ("fedleak.bench.audit_bench", "above 1: less time than the plain way; limit: times what cannot be saved"),
    "paillier": ("fedleak.bench.paillier_bench", "above 1: fedleak is faster"),
    "cafe": ("fedleak.bench.cafe_bench", "above 1: solving is nearer, or sooner done, than descending"),
    "inversion": ("fedleak.bench.inversion_bench", "above 1: the gradient solved is nearer than the gradient matched"),
    "secureboost": ("fedleak.bench.secureboost_bench", "above 1: packed ciphertexts take less"),
    "stream": ("fedleak.bench.stream_bench", "bytes that passed, over the most memory that a process had"),
}


def bench_command(name: str, json: str | None, quick: bool) -> None:
    if name not in BENCHES:
        raise UnknownNameError(f"unknown bench {name!r}{nearest_or_list(name, BENCHES)}")
    check_json_target(json)
    module, meaning = BENCHES[name]
    result = import_module(module).measure(quick=quick)
    if json is not None:
        write_json(result, json)
    if json != "-":
        for key, value in result.items():
            if key.endswith("_ratio"):
                click.echo(f"{key:20s} {value:8.2f}  ({meaning})")
