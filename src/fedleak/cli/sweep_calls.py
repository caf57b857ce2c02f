"""Commands on grids of scenarios: ``fedleak sweep`` and ``fedleak results``."""

from __future__ import annotations

from pathlib import Path

import click

from fedleak.cli.shared_options import PATH, engine_option, json_option, split_words
from fedleak.core.errors import ExitCode


@click.command()
@click.argument("grid", type=PATH)
@click.option(
    "--out", type=PATH, default=Path("fedleak-sweep"), help="Folder of the store; what it has is not run again."
)
@engine_option
@click.option("--jobs", type=click.IntRange(min=1), help="Processes side by side on this machine; as many as cores.")
@click.option("--dry-run/--no-dry-run", help="List the cells, and run nothing.")
@json_option
def sweep(grid: Path, out: Path, engine: str | None, jobs: int | None, dry_run: bool, json: str | None) -> ExitCode:
    """Run a grid of scenarios, each cell an experiment with published run keys; the same command goes on where it was.

    GRID: A grid in TOML: a base scenario and lists of values for its keys.
    """
    import os

    from fedleak.cli.sweep import sweep_command

    return sweep_command(grid, out, engine, jobs or os.cpu_count() or 1, dry_run, json)


@click.command()
@click.argument("store", type=PATH)
@click.option("--where", "words", multiple=True, help="KEY=VALUE: these findings alone; may be given several times.")
@click.option("--by", "keys", multiple=True, help="Count and average by this key; may be given several times.")
@click.option("--code", help="The version of the code, by the beginning of its name; the latest if left out.")
@click.option("--compare", help="An older version of the code to compare with.")
@click.option("--to", type=PATH, help="Write the rows to this .csv, .json or .parquet file.")
@json_option
def results(
    store: Path,
    words: tuple[str, ...],
    keys: tuple[str, ...],
    code: str | None,
    compare: str | None,
    to: Path | None,
    json: str | None,
) -> ExitCode:
    """Look at what sweeps found: a table, counts, the difference of two versions, a file.

    STORE: A folder that a sweep wrote to, or the store in it.
    """
    from fedleak.cli.results import results_command

    return results_command(store, words, split_words(keys), code, compare, to, json)
