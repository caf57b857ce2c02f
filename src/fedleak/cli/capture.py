"""``fedleak capture``: a small federation of one's own table in somebody else's framework, recorded and audited."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any

import click

from fedleak.core.errors import ExitCode

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("framework")
@click.option("--data", required=True, help="The table: a file, or sklearn:NAME, as in a scenario.")
@click.option("--target", help="The column with the labels.")
@click.option(
    "--task",
    type=click.Choice(["binary", "multiclass", "regression"]),
    default="binary",
    help="What labels are: two classes, several, or numbers.",
)
@click.option("--rows", type=click.IntRange(min=4), help="At most so many rows, evenly spread.")
@click.option("--own-share", type=float, default=0.5, help="Of the columns, for the party that holds the labels.")
@click.option("--set", "given", multiple=True, help="A setting of the training, NAME=VALUE; may be given again.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of how the table is dealt out, and the training.")
@click.option("--python", type=PATH, help="The Python that the framework's environment is made with.")
@click.option("--out", type=PATH, default=Path("fedleak-capture"), help="Folder for the capture and the truth.")
@click.option("--audit/--no-audit", "audited", help="Audit the capture at once, into the folder's audit/.")
def capture(framework: str, given: tuple[str, ...], audited: bool, **named: Any) -> ExitCode:
    """Train on your table in somebody else's framework, on this machine, and record what is sent.

    FRAMEWORK: Whose: xgboost, flower, flower-split, flower-torch, fate, fate-secureboost, nvflare or nvflare-xgboost.
    """
    from fedleak.cli.output import say
    from fedleak.data import DataSpec
    from fedleak.frameworks.capturing import Wanted, captured
    from fedleak.frameworks.recipe import recipe_of

    began = monotonic()
    recipe = recipe_of(framework)
    table: dict[str, Any] = {"source": named["data"], "target": named["target"], "task": named["task"]}
    spec = DataSpec(**table, max_rows=named["rows"], scaling=recipe.scaling)
    dealing = {"own_share": named["own_share"], "seed": named["seed"], "python": named["python"]}
    wanted = Wanted(recipe, spec, recipe.chosen(given), out=named["out"], **dealing)
    transcript, truth = captured(wanted, lambda text: say(f"fedleak: {text}", err=True))
    say(f"Capture: {transcript}   Truth: {truth}")
    if audited:
        code = _audited(transcript, truth, wanted.out / "audit")
        say(f"fedleak: capture and audit took {monotonic() - began:.0f} s", err=True)
        return code
    say(f"Audit it: fedleak audit --transcript {transcript} --truth {truth}")
    return ExitCode.DONE


def _audited(transcript: Path, truth: Path, out: Path) -> ExitCode:
    from fedleak.cli.audit import Telling, audit_command
    from fedleak.report.finding_journal import Order

    order = Order(by_command=True, transcript=str(transcript), truth=str(truth))
    return audit_command(order, out, Telling(), None)
