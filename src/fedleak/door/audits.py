"""An audit from its scenario to its report, for Python and for the command line alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit, SinkFactory
from fedleak.core.errors import InputError
from fedleak.core.finding import Report
from fedleak.core.whole.randomness import RunKey
from fedleak.core.whole.run import MemorySink, Sink
from fedleak.door.frames import Adversaries, FrameOptions, Parties
from fedleak.door.given import Defenses, Given, given
from fedleak.door.reports import REPORT
from fedleak.report import html, json_format
from fedleak.storage.capture_and_truth import DiskSink
from fedleak.trial.progress import Progress, Silent

if TYPE_CHECKING:
    from fedleak.door.given import Source

PAGE, TRANSCRIPTS = "report.html", "transcripts"


def audit(
    scenario: Source = None,
    *,
    target: str | None = None,
    parties: Parties | None = None,
    labels: str | None = None,
    protocol: str | None = None,
    adversaries: Adversaries | None = None,
    defenses: Defenses | None = None,
    attacks: Sequence[str] | None = None,
    run_key: str | None = None,
    in_process: bool = False,
    out: str | os.PathLike[str] | None = None,
    redact: bool = False,
    progress: Progress | Callable[[str], None] | None = None,
    **settings: object,
) -> Report:
    """Run the protocol, take each adversary's place, and report what it can reconstruct.

    ``scenario``: the path of a TOML file, a dictionary of its shape, a ``Scenario``, or a data frame; the built-in one
    if left out. ``defenses`` (names, or dictionaries of a name and parameters) and ``attacks`` (names) replace those
    that it names. ``run_key``, as a report names it, repeats an audit. ``out`` is a folder for the reports and
    transcripts, ``redact`` leaves true values out of what is written there. ``progress=print`` tells what is done.
    ``in_process`` runs attacks beside the data, for a debugger.

    With a data frame: ``parties`` says who holds what (columns by name, their number, or a share), ``labels`` which of
    them holds ``target``: the first by default. Every party is an adversary unless ``adversaries`` names some. Further
    keywords are settings of the protocol, of the data (``scaling``, ``task``, …) or of the partition (``test_share``).
    """
    key = None if run_key is None else RunKey.from_text(run_key)
    options = FrameOptions(target, parties, labels, protocol, adversaries, settings)
    wanted = given(scenario, options, defenses, attacks)
    named = f"{wanted.called}, " if wanted.called else ""
    carried = carry_out(
        wanted,
        key=key,
        in_process=in_process,
        out=None if out is None else Path(out),
        redact=redact,
        progress=_progress(progress),
        command=lambda drawn: f'fedleak.audit({named}run_key="{drawn}")',
    )
    if carried.interrupted:
        raise KeyboardInterrupt
    return carried.report


@dataclass(frozen=True, eq=False)
class Carried:
    """An audit that was ended from outside has a report all the same: what was found until then."""

    report: Report
    interrupted: bool


def carry_out(
    wanted: Given,
    *,
    key: RunKey | None,
    in_process: bool,
    out: Path | None,
    redact: bool,
    progress: Progress,
    command: Callable[[RunKey], str],
) -> Carried:
    """``command`` is what gives the same findings again. The report that is returned is redacted as well."""
    planned = plan_audit(wanted.scenario, wanted.table())
    made = [] if out is None else _make_folders(out)
    audit = Audit(wanted.scenario, planned, _sinks(out), progress, run_key=key, isolated=not in_process)
    interrupted = False
    try:
        audit.run()
    except KeyboardInterrupt:
        interrupted = True
    except InputError:
        _remove_empty(made)
        raise
    report = audit.report(unfinished="the audit was interrupted before it", command=command(audit.run_key))
    report = json_format.redact(report) if redact else report
    if out is not None:
        html.write(report, out / PAGE)
        json_format.write(report, out / REPORT)
    return Carried(report, interrupted)


class Told(Progress):
    """A line a piece of work."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def begin(self, what: str, total: int | None) -> None:
        self._tell(f"{what} ...")

    def advance(self) -> None:
        pass


def _progress(wanted: Progress | Callable[[str], None] | None) -> Progress:
    if wanted is None:
        return Silent()
    return wanted if isinstance(wanted, Progress) else Told(wanted)


def _make_folders(out: Path) -> list[Path]:
    """Before the work, so that a wrong folder is told at once and not after a long run. Returns what is new."""
    transcripts = out / TRANSCRIPTS
    try:
        new = [folder for folder in (transcripts, out) if not folder.exists()]
        transcripts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out must be a folder that can be written; got {out} ({error.strerror})") from error
    if not os.access(out, os.W_OK) or not os.access(transcripts, os.W_OK):
        raise InputError(f"out must be a folder that can be written; got {out} (Permission denied)")
    return new


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # it holds what an earlier run left
            folder.rmdir()


def _sinks(out: Path | None) -> SinkFactory:
    def sink_for(name: str) -> Sink:
        return MemorySink() if out is None else DiskSink(out / TRANSCRIPTS / name, overwrite=True)

    return sink_for
