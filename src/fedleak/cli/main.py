"""The entry point: ``fedleak``. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fedleak.cli.output import told


class Commands(TyperGroup):
    """Looks at these before typer does: it makes exit code 1 of some, and that is a finding's."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError, BrokenPipeError) as error:
            raise typer.Exit(told(error)) from error


app = typer.Typer(
    name="fedleak",
    cls=Commands,
    help="The privacy scanner for federated learning: what can each partner reconstruct?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class FailOn(StrEnum):
    NEVER = "never"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Kind(StrEnum):
    ATTACKS = "attacks"
    DEFENSES = "defenses"
    DEVIATIONS = "deviations"
    PROTOCOLS = "protocols"
    THEOREMS = "theorems"
    METRICS = "metrics"
    PAPERS = "papers"


JsonTarget = Annotated[str | None, typer.Option("--json", help="Write JSON to this file; - is standard output.")]


@app.command()
def audit(
    scenario: Annotated[Path | None, typer.Argument(help="Scenario in TOML; the built-in one if left out.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the reports and transcripts.")] = Path("fedleak-audit"),
    json: JsonTarget = None,
    fail_on: Annotated[
        FailOn, typer.Option(help="Exit with 1 for a finding this severe or worse, with 4 if undecided.")
    ] = FailOn.NEVER,
    redact: Annotated[bool, typer.Option(help="Leave true values out of the reports, for sharing.")] = False,
    run_key: Annotated[str | None, typer.Option(help="Repeat an audit: the run_key that its report names.")] = None,
    in_process: Annotated[
        bool, typer.Option(help="Run attacks beside the data, for a debugger; the report says so.")
    ] = False,
) -> None:
    """Run the protocol, take each adversary's place, and report what it can reconstruct."""
    from fedleak.cli.audit import audit_command

    raise typer.Exit(audit_command(scenario, out, json, fail_on.value, redact, run_key, in_process))


@app.command()
def check(
    scenario: Annotated[Path | None, typer.Argument(help="Scenario in TOML; the built-in one if left out.")] = None,
    json: JsonTarget = None,
) -> None:
    """Theory only: which theorems' conditions hold, what leaks, what to change. Needs no data."""
    from fedleak.cli.check import check_command

    check_command(scenario, json)


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: JsonTarget = None) -> None:
    """What there is, with requirements and references."""
    from fedleak.cli.show import list_command

    list_command(kind.value, json)


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(help="PAPER/EXPERIMENT, such as hu2022/fig3; see: fedleak list papers")],
    quick: Annotated[bool, typer.Option(help="A smaller version, under a minute.")] = False,
    json: JsonTarget = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the figure to this .svg or .png file.")] = None,
) -> None:
    """Run a paper's table or figure again: our figures beside the paper's."""
    from fedleak.cli.measure import reproduce_command

    raise typer.Exit(reproduce_command(experiment, quick, json, picture))


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which comparison: paillier.")],
    json: JsonTarget = None,
    quick: Annotated[bool, typer.Option(help="Fewer repetitions.")] = False,
) -> None:
    """Measure a ratio, both sides in one run."""
    from fedleak.cli.measure import bench_command

    bench_command(name, json, quick)


@app.command()
def report(
    source: Annotated[Path, typer.Argument(help="A report.json that an audit wrote, or its folder.")],
    html: Annotated[Path | None, typer.Option(help="Write the page here.")] = None,
    redact: Annotated[bool, typer.Option(help="Leave true values out, for sharing.")] = False,
) -> None:
    """Render a report again, without running anything again."""
    from fedleak.cli.show import report_command

    report_command(source, html, redact)


@app.command()
def inspect(
    transcript: Annotated[Path, typer.Argument(help="A transcript folder, as an audit writes it.")],
    json: JsonTarget = None,
) -> None:
    """Show what a transcript holds: who sent what to whom, in which form."""
    from fedleak.cli.inspect import inspect_command

    inspect_command(transcript, json)


def version(show: bool) -> None:
    if show:
        from fedleak import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The privacy scanner for federated learning: what can each partner reconstruct?"""


def run() -> None:
    """Run a command; every error is one line and an exit code."""
    try:
        app()
    except Exception as error:
        sys.exit(told(error))
