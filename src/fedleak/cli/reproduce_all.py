"""``fedleak reproduce PAPER`` and ``fedleak reproduce all``: what a paper has, and all papers on one page."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.core.errors import ExitCode, InputError
from fedleak.core.registry import Registry
from fedleak.papers.experiment import Bundled, Experiment, reproduce, result_json
from fedleak.papers.kept_results import kept_result, result_file
from fedleak.papers.paper_page import Shown, missing, page, shown
from fedleak.storage.file_writing import check_writable, written_whole
from fedleak.trial.measured_journal import MeasuredJournal

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


def reproduce_all(experiments: Registry[Experiment], *, quick: bool, out: Path) -> ExitCode:
    """Results that are kept are taken as they are; what is missing is run, and kept beside the page."""
    check_writable(out)
    own = out.with_suffix(".results")
    found: list[Shown] = []
    names = [entry.name for entry in experiments.entries]
    with Bar() as bar:
        for number, name in enumerate(names):
            experiment = experiments.get(name)()
            kept = kept_result((own, COMMITTED), name)
            if kept is not None:
                found.append(shown(experiment, kept[1], kept[0]))
                continue
            bar.note(f"{number + 1} of {len(names)}: {name}")
            one = _run(experiment, quick, own, bar)
            if one is None:
                click.echo("fedleak: interrupted; the same command goes on with what is measured", err=True)
                return ExitCode.INTERRUPTED
            found.append(one)
    with written_whole(out) as temporary:
        temporary.write_text(page(found), encoding="utf-8")
    n_missing = sum(bool(one.why_not) for one in found)
    click.echo(f"{out}: {len(found) - n_missing} experiments with figures, {n_missing} without")
    return ExitCode.DONE


def _run(experiment: Experiment, quick: bool, own: Path, bar: Bar) -> Shown | None:
    """None where it was interrupted; what lacks data or a package is told on the page, with the reason."""
    import json

    path = result_file(own, experiment.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = MeasuredJournal(Path(f"{path}.journal"))
    try:
        result = reproduce(experiment, quick=quick, progress=bar, kept=journal)
    except InputError as error:
        return missing(experiment, str(error))
    if not result.complete:
        return None
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(result_json(result), indent=2), encoding="utf-8")
    journal.remove()
    return shown(experiment, result, path)
