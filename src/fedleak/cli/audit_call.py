"""The options of ``fedleak audit``, and what they ask for; the work itself is imported when it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fedleak.cli.shared_options import PATH, about_a_table, json_option, verbose_option
from fedleak.core.errors import ExitCode

FAIL_ON = click.Choice(["never", "low", "medium", "high"])


@click.command(context_settings={"show_default": True})
@click.argument("scenario", type=PATH, required=False)
@about_a_table
@click.option("--table", help="Of a model file: the table whose rows it predicts.")
@click.option("--transcript", type=PATH, help="Audit a run that was captured elsewhere, in place of a scenario.")
@click.option(
    "--truth", type=PATH, help="What the captured run is checked against: a truth folder, a CSV or an .npz file."
)
@click.option(
    "--coalition",
    "coalitions",
    multiple=True,
    help="Parties of the captured run that pool what they have: clinic,lab. May be given several times.",
)
@click.option("--attack", "attacks", multiple=True, help="Only this attack; may be given several times.")
@click.option("--out", type=PATH, default=Path("fedleak-audit"), help="Folder for the reports and transcripts.")
@json_option
@click.option(
    "--fail-on",
    type=FAIL_ON,
    default="never",
    help="Exit with 1 for a finding this severe or worse, with 4 if undecided.",
)
@click.option("--redact/--no-redact", help="Leave true values out of the reports, for sharing.")
@click.option("--keep-keys/--no-keep-keys", help="Leave private keys in the stored transcripts.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    help="Runs that each finding is decided on (5); all but the first use the ideal cipher.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Cores to use; all by default. The findings are the same.")
@click.option("--run-key", help="Repeat an audit: the run_key that its report names.")
@click.option("--in-process/--no-in-process", help="Run attacks beside the data, for a debugger; the report says so.")
@click.option(
    "--attack-timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds that one attempt of an attack may take; longer is a finding that says so.",
)
@click.option(
    "--attack-memory",
    type=click.IntRange(min=1),
    help="MB that one attempt may take beyond its view; more is a finding that says so.",
)
@click.option("--budget", help="A time, such as 90s or 5m: what is made smaller to fit it is said before it starts.")
@verbose_option
@click.option("--resume", type=PATH, help="Go on with an audit that was ended: the folder that it wrote to.")
@click.pass_context
def audit(
    context: click.Context,
    /,
    scenario: Path | None,
    transcript: Path | None,
    truth: Path | None,
    coalitions: tuple[str, ...],
    attacks: tuple[str, ...],
    out: Path,
    json: str | None,
    fail_on: str,
    redact: bool,
    keep_keys: bool,
    repeats: int | None,
    jobs: int | None,
    run_key: str | None,
    in_process: bool,
    attack_timeout: float | None,
    attack_memory: int | None,
    budget: str | None,
    verbose: bool,
    resume: Path | None,
    **wishes: Any,
) -> ExitCode:
    """Run the protocol, take each adversary's place, and report what it can reconstruct.

    SCENARIO: Scenario in TOML; the built-in one if left out. Or a table: customers.csv --target defaulted --mine
    "income,age" --partner "basket,visits". Or a model file, with --table customers.csv beside the same options. Or a
    gradient, or the folder of a captured run.
    """
    from fedleak.auditing.own_table import Wishes
    from fedleak.cli.audit import MB, Telling, audit_command, begun_order, refuse_beside_resume, wishes_about
    from fedleak.core.whole.randomness import RunKey
    from fedleak.report.finding_journal import Order

    told = Telling(json=json, fail_on=fail_on, verbose=verbose)
    if resume is not None:
        refuse_beside_resume(context)
        order, key = begun_order(resume)
        return audit_command(order, resume, told, key, resumed=True)
    wished = Wishes(**wishes)
    about_table = wishes_about(scenario, wished)
    order = Order(
        by_command=True,
        scenario=_text(scenario),
        wishes=about_table,
        changed=() if about_table else wished.settings,
        transcript=_text(transcript),
        truth=_text(truth),
        coalitions=coalitions,
        attacks=attacks,
        repeats=repeats,
        jobs=jobs,
        in_process=in_process,
        redact=redact,
        keep_keys=keep_keys,
        attack_seconds=attack_timeout,
        attack_bytes=None if attack_memory is None else attack_memory * MB,
        budget=budget,
    )
    return audit_command(order, out, told, None if run_key is None else RunKey.from_text(run_key))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
