"""The entry point: ``fedleak``. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fedleak.cli.audit_call import audit
from fedleak.cli.capture import capture
from fedleak.cli.kept_reports import diff, ledger, report
from fedleak.cli.output import lead_nowhere, told
from fedleak.cli.shared_options import PATH, about_a_table, engine_option, json_option, split_words, verbose_option
from fedleak.cli.signals import listen
from fedleak.cli.spelt_out import spell_out
from fedleak.cli.sweep_calls import results, sweep
from fedleak.core.errors import ExitCode
from fedleak.core.version import __version__

KINDS = click.Choice(["attacks", "defenses", "deviations", "protocols", "theorems", "metrics", "papers"])


class InOrder(click.Group):
    """Help shows commands in the order of use, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(name="fedleak", cls=InOrder, invoke_without_command=True, context_settings={"show_default": True})
@click.version_option(__version__, message="%(version)s", help="Print the version.")
@click.pass_context
def app(context: click.Context) -> None:
    """The privacy scanner for federated learning: what can each partner reconstruct?"""
    if context.invoked_subcommand is None:  # click 8.1 would end with 0
        click.echo(context.get_help(), err=True)
        context.exit(ExitCode.WRONG_INPUT)


app.add_command(audit)
app.add_command(capture)


@app.command()
@click.argument("scenario", type=PATH, required=False)
@json_option
@verbose_option
def check(scenario: Path | None, json: str | None, verbose: bool) -> None:
    """Theory only: which theorems' conditions hold, what leaks, what to change. Needs no data.

    SCENARIO: Scenario in TOML; the built-in one if left out.
    """
    from fedleak.cli.check import check_command

    check_command(scenario, json, verbose)


@app.command()
@click.argument("scenario", type=PATH, required=False)
@click.option("--write", type=PATH, help="Write the scenario with the first change that closes the leak here.")
@click.option("--picture", type=PATH, help="Draw leak against usefulness to this .svg file.")
@json_option
@click.option("--jobs", type=click.IntRange(min=1), help="Cores that are used; all by default.")
@click.option("--budget", default="10m", help="A time: the best that is found by then.")
@click.option("--max-audits", type=click.IntRange(min=2), default=120, help="Audits of the search, at most.")
@click.option("--run-key", help="Repeats a search.")
def advise(scenario: Path | None, **options: Any) -> ExitCode:
    """Search for the change that closes the leak and costs the model least: audits decide, three changes at most.

    SCENARIO: Scenario in TOML; the built-in one if left out.
    """
    from fedleak.cli.advise import advise_command

    return advise_command(scenario, **options)


@app.command()
@click.argument("table")
@about_a_table
@click.option("--out", type=PATH, default=Path("scenario.toml"), help="The file to write.")
def init(table: str, out: Path, **wishes: Any) -> None:
    """Look at a table, ask what cannot be seen in it, and write a scenario with a word on every key.

    TABLE: A .csv, .tsv, .parquet or .npz file, or a data set's public name.
    """
    from fedleak.auditing.own_table import Wishes
    from fedleak.cli.init import init_command

    init_command(table, Wishes(**wishes), out)


@app.command("list")
@click.argument("kind", type=KINDS, metavar="KIND")
@json_option
def list_(kind: str, json: str | None) -> None:
    """What there is, with requirements and references.

    KIND: What to list: attacks, defenses, deviations, protocols, theorems, metrics or papers.
    """
    from fedleak.cli.show import list_command

    list_command(kind, json)


@app.command()
@click.argument("experiment")
@click.option("--quick/--no-quick", help="A smaller version, under a minute.")
@json_option
@click.option("--picture", type=PATH, help="Draw the figure to this .svg or .png file.")
@click.option("--out", type=PATH, default=Path("papers.html"), help="The page that `all` writes.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes side by side; 1 by default, for the sake of times.")
@engine_option
def reproduce(
    experiment: str,
    quick: bool,
    json: str | None,
    picture: Path | None,
    out: Path,
    jobs: int | None,
    engine: str | None,
) -> ExitCode:
    """Run a paper's table or figure again: our figures beside the paper's.

    EXPERIMENT: PAPER/EXPERIMENT, such as hu2022/fig3. A paper alone, such as hu2022, lists what it has. `all` writes
    one page with everything: results that are kept are taken, what is missing is run, and an ended command goes on.
    """
    from fedleak.cli.measure import Elsewhere, reproduce_command

    return reproduce_command(experiment, quick, json, picture, out, Elsewhere(engine, jobs))


@app.command()
@click.argument("folder", type=PATH)
def benchmark(folder: Path) -> None:
    """Write the views of the benchmark that attacks of others can enter: no truth, one folder a task.

    FOLDER: Where to write them.
    """
    from fedleak.cli.benchmark import benchmark_command

    benchmark_command(folder)


@app.command("submit-check")
@click.argument("folder", type=PATH)
@json_option
def submit_check(folder: Path, json: str | None) -> None:
    """Score the guesses of an entry to the benchmark, beside the best blind guess.

    FOLDER: Holds labels.npz, columns.npz and pictures.npz, or some of them.
    """
    from fedleak.cli.benchmark import submit_check_command

    submit_check_command(folder, json)


@app.command()
@click.argument("name")
@json_option
@click.option("--quick/--no-quick", help="Fewer repetitions, or less data.")
def bench(name: str, json: str | None, quick: bool) -> None:
    """Measure a ratio, both sides in one run.

    NAME: Which comparison: paillier (time against phe) or stream (memory against data).
    """
    from fedleak.cli.measure import bench_command

    bench_command(name, json, quick)


@app.command()
@click.option("--attack", "--attacks", "attacks", multiple=True, help="Only this attack; may be given several times.")
@click.option("--table", "--tables", "tables", multiple=True, help="Only this table; may be given several times.")
@click.option("--seeds", type=click.IntRange(min=1), help="Seeds a cell (up to 400; 60 for slow attacks and power).")
@click.option("--quick/--no-quick", help="A few cells with 20 seeds: minutes, where all of it takes hours.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes side by side; as many as there are cores.")
@click.option("--out", type=PATH, help="Keep what is measured in this file, and go on with what it has.")
@json_option
def calibrate(
    attacks: tuple[str, ...],
    tables: tuple[str, ...],
    seeds: int | None,
    quick: bool,
    jobs: int | None,
    out: Path | None,
    json: str | None,
) -> ExitCode:
    """Measure the audit's own decision: how often it calls a leak where there is none, and finds one that is there."""
    import os

    from fedleak.calibration.suite import Wanted
    from fedleak.cli.calibrate import calibrate_command

    wanted = Wanted(split_words(attacks), split_words(tables), seeds, quick)
    return calibrate_command(wanted, json, out, jobs or os.cpu_count() or 1)


for command in (sweep, results, report, diff, ledger):
    app.add_command(command)


@app.command()
@click.argument("transcript", type=PATH)
@click.option(
    "--truth",
    type=PATH,
    help="What really was, a folder or a CSV file: says how well each message alone predicts it (plaintext-scan).",
)
@json_option
def inspect(transcript: Path, truth: Path | None, json: str | None) -> None:
    """Show what a transcript holds: who sent what to whom, in which form.

    TRANSCRIPT: A transcript folder, as an audit writes it.
    """
    from fedleak.cli.inspect import inspect_command

    inspect_command(transcript, truth, json)


def run() -> None:
    """Run a command; every error is one line and an exit code."""
    try:
        lead_nowhere()
        listen()
        spell_out()
        code = _run(sys.argv[1:])
        sys.stdout.flush()  # now, where a failure has a name
        sys.exit(code)
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(_told(error))


def _told(error: BaseException) -> int:
    """Where there is not even the memory to say it, the code still does: Python's own would be 1, a finding's."""
    try:
        return told(error)
    except (Exception, KeyboardInterrupt):
        return ExitCode.FAILED


def _run(arguments: Sequence[str]) -> int:
    """Not by ``app()``: it makes exit code 1 of Ctrl-C and of a closed pipe, and that is a finding's."""
    try:
        with app.make_context("fedleak", list(arguments)) as context:
            code: ExitCode | None = app.invoke(context)
            return ExitCode.DONE if code is None else code
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        error.show()
        return ExitCode.WRONG_INPUT
