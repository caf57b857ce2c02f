"""``fedleak reproduce PAPER`` and ``fedleak reproduce all``: what a paper has, and all papers on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import click
from rich.table import Table

from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.core.errors import ExitCode, InputError
from fedleak.core.registry import Registry
from fedleak.engines.code_version import code_version
from fedleak.engines.engine import Engine, Work, on_one_core
from fedleak.papers.experiment import Bundled, Experiment, reproduce, result_json
from fedleak.papers.kept_results import kept_result, read_result, result_file
from fedleak.papers.paper_page import Shown, missing, page, shown
from fedleak.storage.file_writing import check_writable, written_whole
from fedleak.trial.measured_journal import Entry, MeasuredJournal
from fedleak.trial.progress import Silent

COMMITTED = Path("docs/results")  # of a checkout that the command runs in


def list_paper(paper: str, experiments: Registry[Experiment]) -> ExitCode:
    """Its experiments, a line each, and one to try first: where there is one, without files."""
    of_it = [kind for kind in experiments if kind.name.startswith(f"{paper}/")]
    table = Table("experiment", "what it measures", "needs files", box=None, pad_edge=False)
    for kind in of_it:
        table.add_row(kind.name, f"{kind.summary} ({kind.reference.section})", kind.needs.value)
    plain_console().print(table)
    first = next((kind for kind in of_it if kind.needs is not Bundled.NO), of_it[0])
    click.echo(f"\nFiles are looked for in the folder FEDLEAK_DATA. Try: fedleak reproduce {first.name} --quick")
    return ExitCode.DONE


def reproduce_all(experiments: Registry[Experiment], *, quick: bool, out: Path, engine: Engine | None) -> ExitCode:
    """Results that are kept are taken as they are; what is missing is run, and kept beside the page."""
    check_writable(out)
    own = out.with_suffix(".results")
    kinds = {entry.name: experiments.get(entry.name) for entry in experiments.entries}
    found = {name: one for name, kind in kinds.items() if (one := _kept(kind, own, quick)) is not None}
    left = [kind for name, kind in kinds.items() if name not in found]
    with Bar() as bar:
        bar.note(f"{len(found)} of {len(kinds)} experiments are kept; {len(left)} are run")
        try:
            run = _one_by_one(left, quick, own, bar) if engine is None else _side_by_side(left, quick, own, bar, engine)
            found |= dict(run)
        except KeyboardInterrupt:
            click.echo("fedleak: interrupted; the same command goes on with what is measured", err=True)
            return ExitCode.INTERRUPTED
    with written_whole(out) as temporary:
        temporary.write_text(page([found[name] for name in kinds]), encoding="utf-8")
    n_missing = sum(bool(one.why_not) for one in found.values())
    click.echo(f"{out}: {len(found) - n_missing} experiments with figures, {n_missing} without")
    return ExitCode.DONE


def _kept(kind: type[Experiment], own: Path, quick: bool) -> Shown | None:
    kept = kept_result((own, COMMITTED), kind.name, quick=quick)
    return None if kept is None else shown(kind(), kept[1], kept[0])


def _one_by_one(kinds: Sequence[type[Experiment]], quick: bool, own: Path, bar: Bar) -> Iterator[tuple[str, Shown]]:
    """What lacks data or a package is told on the page, with the reason. An interruption leaves the pieces of the
    experiment that it ended in a journal."""
    for number, kind in enumerate(kinds, start=1):
        bar.note(f"{number} of {len(kinds)}: {kind.name}")
        path = _place(own, kind)
        journal = MeasuredJournal(_journal_of(path))
        experiment = kind()
        try:
            result = reproduce(experiment, quick=quick, progress=bar, kept=journal)
        except InputError as error:
            yield kind.name, missing(experiment, str(error))
            continue
        if not result.complete:
            raise KeyboardInterrupt
        _write(path, result_json(result))
        journal.remove()
        yield kind.name, shown(experiment, result, path)


@dataclass(frozen=True)
class Whole:
    """An experiment as another process measured it, or why it did not."""

    result: Mapping[str, object] | None
    why_not: str
    code: str


def _side_by_side(
    kinds: Sequence[type[Experiment]], quick: bool, own: Path, bar: Bar, engine: Engine
) -> Iterator[tuple[str, Shown]]:
    """Whole experiments, each on one core."""
    by_key = {sha256(repr((kind.name, quick, code_version())).encode()).hexdigest()[:16]: kind for kind in kinds}
    works = []
    for key, kind in by_key.items():
        entries = MeasuredJournal(_journal_of(_place(own, kind))).entries
        works.append(Work(key, partial(_whole, kind, quick, engine.words, entries), ""))
    if not works:
        return
    bar.begin("experiments", len(works))
    with closing(engine.done(works, {"": None})) as done:
        for work, whole in done:
            kind = by_key[work.key]
            path = _place(own, kind)
            if whole.result is None:
                yield kind.name, missing(kind(), whole.why_not)
            else:
                _write(path, whole.result)
                MeasuredJournal(_journal_of(path)).remove()
                yield kind.name, shown(kind(), read_result(path), path)
            bar.advance()


def _whole(kind: type[Experiment], quick: bool, engine: str, entries: Sequence[Entry], _: object) -> Whole:
    """``entries``: of pieces that an earlier command measured."""
    journal = MeasuredJournal()
    for entry in entries:
        journal.take(entry)
    journal.earlier_seconds = sum(entry.cpu_seconds for entry in entries)
    with on_one_core():
        try:
            result = reproduce(kind(), quick=quick, progress=Silent(), kept=journal)
        except InputError as error:
            return Whole(None, str(error), code_version())
    if not result.complete:
        return Whole(None, "it was interrupted", code_version())
    made = {**result.provenance, "engine": engine}
    return Whole(result_json(replace(result, provenance=made)), "", code_version())


def _journal_of(path: Path) -> Path:
    return Path(f"{path}.journal")


def _place(own: Path, kind: type[Experiment]) -> Path:
    path = result_file(own, kind.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: Path, result: Mapping[str, object]) -> None:
    import json

    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(result, indent=2), encoding="utf-8")
