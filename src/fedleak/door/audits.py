"""An audit from its scenario to its report, for Python and for the command line alike."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from fedleak.auditing.budget import FOR_FIRST_ATTACKS, budget_seconds
from fedleak.auditing.data_digest import digest_of
from fedleak.auditing.frames import Adversaries, FrameOptions, Parties
from fedleak.auditing.means import REPEATS, Means
from fedleak.auditing.runner import Audit
from fedleak.auditing.time_left import TIME_SPENT
from fedleak.core.errors import FedleakError, InputError, RunError, TimeSpentError, in_one_line, show_traceback
from fedleak.core.report import Report
from fedleak.core.whole.randomness import RunKey
from fedleak.core.whole.run import MemorySink, Sink
from fedleak.crypto.cores import using
from fedleak.door.audit_folder import TRANSCRIPTS, make_folders, remove_empty, remove_reports, remove_transcripts
from fedleak.door.early_start import started_early
from fedleak.door.fitting import fit
from fedleak.door.given import Defenses, Given, GivenCapture, check_lists, given, is_gradient
from fedleak.door.reports import PAGE, REPORT
from fedleak.door.told_progress import progress_of
from fedleak.door.withheld_keys import WithheldKeys
from fedleak.report import html, json_format
from fedleak.report.finding_journal import JOURNAL, Journal, Order, began, not_written, recall
from fedleak.storage.capture_and_truth import DiskSink
from fedleak.trial.conversation import Limits
from fedleak.trial.progress import Progress

if TYPE_CHECKING:
    from fedleak.door.given import Source

UNFINISHED = "the audit was interrupted before it"


def audit(
    scenario: Source = None,
    *,
    transcript: str | os.PathLike[str] | None = None,
    truth: str | os.PathLike[str] | None = None,
    coalitions: Sequence[Sequence[str]] | None = None,
    target: str | None = None,
    parties: Parties | None = None,
    labels: str | None = None,
    protocol: str | None = None,
    adversaries: Adversaries | None = None,
    defenses: Defenses | None = None,
    attacks: Sequence[str] | None = None,
    run_key: str | None = None,
    repeats: int | None = None,
    jobs: int | None = None,
    in_process: bool = False,
    attack_timeout: float | None = None,
    attack_memory: int | None = None,
    out: str | os.PathLike[str] | None = None,
    redact: bool = False,
    keep_keys: bool = False,
    progress: Progress | Callable[[str], None] | None = None,
    **settings: object,
) -> Report:
    """Run the protocol, take each adversary's place, and report what it can reconstruct.

    ``scenario``: the path of a TOML file, a dictionary of its shape, a ``Scenario``, or a data frame; the built-in one
    if left out. ``defenses`` (names, or dictionaries of a name and parameters) and ``attacks`` (names) replace those
    that it names. ``run_key``, as a report names it, repeats an audit. ``repeats``: how many runs each finding is
    decided on, 5 by default. ``jobs``: cores that are used, all by default. ``out`` is a folder for the reports and
    transcripts, where findings are kept as they come; ``redact`` leaves true values out of the reports, ``keep_keys``
    leaves private keys in the transcripts. ``attack_timeout`` (seconds) and ``attack_memory`` (bytes) are of
    each attempt: one that passes them is a finding that says so. ``progress=print`` tells what is done. ``in_process``
    runs attacks beside the data, for a debugger.

    ``transcript`` is a run that took place elsewhere, in place of a scenario; ``truth`` is what it is checked against,
    ``coalitions`` are parties that pool what they have, beside every party alone: [("clinic", "lab")].
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
        if transcript is None and truth is None and coalitions is None
        else _capture(
            transcript, truth, attacks, coalitions, beside=scenario is not None or bool(options.named) or bool(defenses)
        )
    )
    named = f"{wanted.called}, " if wanted.called else ""
    carried = carry_out(
        wanted,
        Order(
            repeats=repeats,
            jobs=jobs,
            in_process=in_process,
            redact=redact,
            keep_keys=keep_keys,
            attack_seconds=attack_timeout,
            attack_bytes=attack_memory,
        ),
        key=key,
        out=None if out is None else Path(out),
        progress=progress_of(progress),
        command=lambda drawn, _: f'fedleak.audit({named}run_key="{drawn}")',
    )
    for ended in (carried.interrupted, carried.failed):
        if ended is not None:
            raise ended
    return carried.report


def _capture(
    transcript: str | os.PathLike[str] | None,
    truth: str | os.PathLike[str] | None,
    attacks: Sequence[str] | None,
    coalitions: Sequence[Sequence[str]] | None,
    *,
    beside: bool,
) -> GivenCapture:
    if transcript is None:
        raise InputError("truth and coalitions must go with transcript; a scenario brings its own data and adversaries")
    check_lists(attacks=attacks)
    if beside:
        raise InputError("transcript must stand alone, with truth, attacks and coalitions: a captured run is over")
    together = tuple(tuple(coalition) for coalition in coalitions or ())
    return GivenCapture(Path(transcript), None if truth is None else Path(truth), tuple(attacks or ()), together)


@dataclass(frozen=True, eq=False)
class Carried:
    """An audit that was ended from outside, or by a full disk, has a report all the same: what was found until then."""

    report: Report
    order: Order  # with what was made smaller to fit a time
    is_late: bool = False  # its time was spent before everything was tried
    interrupted: KeyboardInterrupt | None = None
    failed: FedleakError | None = None  # why the report, or what it is made of, is not on the disk


def carry_out(
    wanted: Given | GivenCapture,
    order: Order,
    *,
    key: RunKey | None,
    out: Path | None,
    progress: Progress,
    command: Callable[[RunKey, Order], str],
    resumed: bool = False,
) -> Carried:
    """``command`` is what gives the same findings again. The report that is returned is redacted as well. ``resumed``:
    the folder holds a journal, and what stands there is not tried again."""
    repeats = 1 if isinstance(wanted, GivenCapture) else REPEATS
    repeats = repeats if order.repeats is None else order.repeats
    seconds = None if order.budget is None or resumed else budget_seconds(order.budget)
    deadline = None if seconds is None else time.perf_counter() + seconds
    with started_early(wanted, order) as standby:
        fitted = fit(wanted, order, progress, repeats, resumed=resumed)
        planned, order = fitted.planned, fitted.order
        kept = None if out is None or planned.is_over else out / TRANSCRIPTS
        made = [] if out is None else make_folders(out, kept)
        try:
            with _keeping(out, redact=order.redact) as journal:
                audit = Audit(
                    planned.scenario,
                    planned.runs,
                    _Sinks(kept, order.keep_keys),
                    progress,
                    Means(
                        repeats=repeats,
                        jobs=order.jobs,
                        isolated=not order.in_process,
                        limits=Limits(order.attack_seconds, order.attack_bytes),
                        deadline=deadline,
                        for_first_attacks=FOR_FIRST_ATTACKS * (seconds or 0.0),
                        standby=standby,
                    ),
                    run_key=key,
                    left_out=planned.left_out,
                    kept=journal,
                    reduced=order.reduced,
                )
                if out is not None and journal is not None:
                    _begin(audit, journal, out, order, digest_of(planned.runs), resumed=resumed)
                with using(order.jobs) if order.jobs else nullcontext():
                    ended = _ended(audit)
                unfinished = TIME_SPENT if ended.get("is_late") else UNFINISHED
                report = audit.report(unfinished=unfinished, command=command(audit.run_key, order))
                carried = Carried(json_format.redact(report) if order.redact else report, order, **ended)
                return carried if out is None else _written(carried, out)
        except InputError:
            remove_empty(made)
            raise


@contextmanager
def _keeping(out: Path | None, *, redact: bool) -> Iterator[Journal | None]:
    """The journal of a folder; a new one goes again where the audit is refused."""
    if out is None:
        yield None
        return
    journal = Journal(out, redact=redact)
    try:
        yield journal
    except InputError:
        journal.close(remove=journal.is_new)
        raise
    finally:
        journal.close()


def _begin(audit: Audit, journal: Journal, out: Path, order: Order, digest: str, *, resumed: bool) -> None:
    if resumed:
        found = recall(out / JOURNAL)
        if found.began.digest != digest:
            raise InputError(
                f"--resume must find scenario and data as they were when {out} was begun; got others. "
                "Audit them anew, with another --out"
            )
        journal.go_on(found)
        remove_reports(out)
        return
    first = began(audit.report(unfinished=UNFINISHED), order, digest, audit.open_places)
    journal.try_out(first)
    remove_reports(out)
    remove_transcripts(out)
    journal.begin(first)


class _Ended(TypedDict, total=False):
    is_late: bool
    interrupted: KeyboardInterrupt
    failed: FedleakError


def _ended(audit: Audit) -> _Ended:
    """How the work came to its end."""
    try:
        audit.run()
    except KeyboardInterrupt as interruption:
        return {"interrupted": interruption}
    except InputError:
        raise
    except TimeSpentError:
        return {"is_late": True}
    except RunError as error:  # a finding that could not be kept
        return {"failed": error}
    except Exception as error:  # no thread, no descriptor, no memory left for the audit itself
        show_traceback(error)
        return {"failed": RunError(f"the audit could not go on: {in_one_line(error)}")}
    return {}


def _written(carried: Carried, out: Path) -> Carried:
    """A report that cannot be written is still told: what it is made of is in the journal. Each by itself: there may
    be room for the smaller one."""
    failed = carried.failed
    for path, write in ((out / PAGE, html.write), (out / REPORT, json_format.write)):
        try:
            write(carried.report, path)
        except InputError as error:
            failed = failed or not_written(path, error.__cause__ or error)
    return replace(carried, failed=failed)


@dataclass(frozen=True)
class _Sinks:
    """A place on the disk for each run, or in memory; a process beside this one gets it as well."""

    folder: Path | None
    keep_keys: bool

    def __call__(self, name: str) -> Sink:
        if self.folder is None:
            return MemorySink()
        stored = DiskSink(self.folder / name, overwrite=True)
        return stored if self.keep_keys else WithheldKeys(stored)
