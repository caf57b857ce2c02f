"""An audit from its scenario to its report, for Python and for the command line alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedleak.auditing.runner import Audit, SinkFactory
from fedleak.core.errors import InputError
from fedleak.core.report import Report
from fedleak.core.whole.randomness import RunKey
from fedleak.core.whole.run import MemorySink, Sink
from fedleak.door.frames import Adversaries, FrameOptions, Parties
from fedleak.door.given import Defenses, Given, GivenCapture, check_lists, given, is_gradient
from fedleak.door.reports import REPORT
from fedleak.report import html, json_format
from fedleak.storage.capture_and_truth import DiskSink
from fedleak.trial.progress import Progress, Silent

if TYPE_CHECKING:
    from fedleak.door.given import Source

PAGE, TRANSCRIPTS = "report.html", "transcripts"
REPEATS = 5  # runs that a finding is decided on: under noise the luck of a single one can pass for a leak


def audit(
    scenario: Source = None,
    *,
    transcript: str | os.PathLike[str] | None = None,
    truth: str | os.PathLike[str] | None = None,
    target: str | None = None,
    parties: Parties | None = None,
    labels: str | None = None,
    protocol: str | None = None,
    adversaries: Adversaries | None = None,
    defenses: Defenses | None = None,
    attacks: Sequence[str] | None = None,
    run_key: str | None = None,
    repeats: int | None = None,
    in_process: bool = False,
    out: str | os.PathLike[str] | None = None,
    redact: bool = False,
    progress: Progress | Callable[[str], None] | None = None,
    **settings: object,
) -> Report:
    """Run the protocol, take each adversary's place, and report what it can reconstruct.

    ``scenario``: the path of a TOML file, a dictionary of its shape, a ``Scenario``, or a data frame; the built-in one
    if left out. ``defenses`` (names, or dictionaries of a name and parameters) and ``attacks`` (names) replace those
    that it names. ``run_key``, as a report names it, repeats an audit. ``repeats``: how many runs each finding is
    decided on, 5 by default. ``out`` is a folder for the reports and transcripts, ``redact`` leaves true values out of
    what is written there. ``progress=print`` tells what is done. ``in_process`` runs attacks beside the data, for a
    debugger.

    ``transcript`` is a run that took place elsewhere, in place of a scenario; ``truth`` is what it is checked against.
    So is ``scenario`` where it is the path of one gradient, an .npz file (docs/gradients.md).

    With a data frame: ``parties`` says who holds what (columns by name, their number, or a share), ``labels`` which of
    them holds ``target``: the first by default. Every party is an adversary unless ``adversaries`` names some. Further
    keywords are settings of the protocol, of the data (``scaling``, ``task``, …) or of the partition (``test_share``).
    """
    key = None if run_key is None else RunKey.from_text(run_key)
    options = FrameOptions(target, parties, labels, protocol, adversaries, settings)
    if transcript is None and is_gradient(scenario):
        transcript, scenario = scenario, None
    wanted = (
        given(scenario, options, defenses, attacks)
        if transcript is None and truth is None
        else _capture(transcript, truth, attacks, beside=scenario is not None or bool(options.named) or bool(defenses))
    )
    named = f"{wanted.called}, " if wanted.called else ""
    carried = carry_out(
        wanted,
        key=key,
        repeats=repeats,
        in_process=in_process,
        out=None if out is None else Path(out),
        redact=redact,
        progress=_progress(progress),
        command=lambda drawn: f'fedleak.audit({named}run_key="{drawn}")',
    )
    if carried.interrupted:
        raise KeyboardInterrupt
    return carried.report


def _capture(
    transcript: str | os.PathLike[str] | None,
    truth: str | os.PathLike[str] | None,
    attacks: Sequence[str] | None,
    *,
    beside: bool,
) -> GivenCapture:
    if transcript is None:
        raise InputError("truth must go with transcript; a scenario brings its own data")
    check_lists(attacks=attacks)
    if beside:
        raise InputError("transcript must stand alone, with truth and attacks at most: a captured run is over")
    return GivenCapture(Path(transcript), None if truth is None else Path(truth), tuple(attacks or ()))


@dataclass(frozen=True, eq=False)
class Carried:
    """An audit that was ended from outside has a report all the same: what was found until then."""

    report: Report
    interrupted: bool


def carry_out(
    wanted: Given | GivenCapture,
    *,
    key: RunKey | None,
    repeats: int | None,
    in_process: bool,
    out: Path | None,
    redact: bool,
    progress: Progress,
    command: Callable[[RunKey], str],
) -> Carried:
    """``command`` is what gives the same findings again. The report that is returned is redacted as well."""
    planned = wanted.plan()
    kept = None if out is None or planned.is_over else out / TRANSCRIPTS
    made = [] if out is None else _make_folders(out, kept)
    audit = Audit(
        planned.scenario,
        planned.runs,
        _sinks(kept),
        progress,
        run_key=key,
        isolated=not in_process,
        left_out=planned.left_out,
        repeats=(1 if planned.is_over else REPEATS) if repeats is None else repeats,
    )
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


def _make_folders(out: Path, transcripts: Path | None) -> list[Path]:
    """Before the work, so that a wrong folder is told at once and not after a long run. Returns what is new."""
    wanted = [out] if transcripts is None else [transcripts, out]
    try:
        new = [folder for folder in wanted if not folder.exists()]
        wanted[0].mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out must be a folder that can be written; got {out} ({error.strerror})") from error
    if not all(os.access(folder, os.W_OK) for folder in wanted):
        raise InputError(f"out must be a folder that can be written; got {out} (Permission denied)")
    return new


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # it holds what an earlier run left
            folder.rmdir()


def _sinks(folder: Path | None) -> SinkFactory:
    def sink_for(name: str) -> Sink:
        return MemorySink() if folder is None else DiskSink(folder / name, overwrite=True)

    return sink_for
