"""``fedleak advise``: search for what closes the leak, print at most three changes, write the mended scenario."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fedleak.advising.advice import Advice
from fedleak.advising.front_picture import front_file
from fedleak.auditing.frames import FrameOptions
from fedleak.auditing.own_table import placed_beside
from fedleak.auditing.scenario_text import scenario_text
from fedleak.cli.bar import Bar
from fedleak.cli.output import check_json_target, say, write_json
from fedleak.cli.signals import exit_code
from fedleak.core.errors import ExitCode
from fedleak.core.whole.randomness import RunKey
from fedleak.door.advised import sought
from fedleak.door.given import given
from fedleak.storage.file_writing import check_writable, write_text
from fedleak.trial.blas_memory import settle_blas_memory


def advise_command(
    scenario: Path | None,
    *,
    write: Path | None,
    picture: Path | None,
    json: str | None,
    jobs: int | None,
    budget: str,
    max_audits: int,
    run_key: str | None,
) -> ExitCode:
    settle_blas_memory()
    key = None if run_key is None else RunKey.from_text(run_key)
    check_json_target(json)
    for target in (write, picture):
        if target is not None:
            check_writable(target)
    with Bar() as bar:
        found = sought(
            given(scenario, FrameOptions()), budget=budget, most=max_audits, jobs=jobs, key=key, progress=bar
        )
    if json is not None:
        write_json(found.advice.to_json(), json)
    if picture is not None:
        write_text(picture, str(front_file(found.advice)))
    if json != "-":
        for line in lines_of(found.advice):
            say(line)
    if write is not None:
        write_mended(found.advice, write)
    if found.interrupted is not None:
        say("fedleak: interrupted; this is the best that was found so far", err=True)
        return exit_code(found.interrupted)
    return ExitCode.DONE


def lines_of(advice: Advice) -> Iterator[str]:
    yield f"{advice.title}: {advice.in_words()}."
    yield from (f"  now: {leak.words()}" for leak in advice.leaks)
    for place, remedy in enumerate(advice.remedies, start=1):
        yield ""
        yield f"{place}. " + (
            "closes" if remedy.closes else "does not close everything" if remedy.confirmed else "not confirmed"
        )
        yield from (f"     {line}" for line in remedy.change.edit.splitlines())
        yield from (f"   {line}" for line in remedy.lines())
    yield ""
    yield (
        f"Scenarios audited: {advice.n_audits}; changes ruled out by theory, without a run: "
        f"{advice.n_ruled_out}; that cannot be run here: {advice.n_refused}."
    )
    yield from (f"Note: {note}." for note in advice.notes)


def write_mended(advice: Advice, path: Path) -> None:
    if not advice.closes:
        say(f"fedleak: {advice.in_words()}: {path} was not written", err=True)
        return
    best = advice.remedies[0]
    assert best.change.scenario is not None
    remarks = ["Written by fedleak advise. What was changed:", *best.change.edit.splitlines(), *best.lines()]
    write_text(path, scenario_text(placed_beside(best.change.scenario, path.parent), remarks))
    say(f"The scenario with the first change: {path}", err=True)
