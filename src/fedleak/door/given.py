"""What somebody wants audited or checked: a scenario file, a dictionary of its shape, a scenario, or a data frame."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from fedleak.auditing.captured_audit import plan_captured
from fedleak.auditing.frames import FrameOptions, raw_scenario
from fedleak.auditing.planner import PlannedRun, plan_audit
from fedleak.auditing.scenario import Scenario, check_scenario
from fedleak.auditing.scenario_file import built_in_scenario, load_scenario, read_defense, read_scenario
from fedleak.core.errors import InputError
from fedleak.core.whole.hooks import Defense

if TYPE_CHECKING:
    import pandas as pd

    from fedleak.data.encoding import EncodedTable

    Source = str | os.PathLike[str] | Mapping[str, object] | Scenario | pd.DataFrame | None

Defenses = Sequence[str | Mapping[str, object] | Defense]


@dataclass(frozen=True, eq=False)
class Planned:
    """``left_out``: attacks for which nobody has what they need; None where they follow from the protocol."""

    scenario: Scenario
    runs: tuple[PlannedRun, ...]
    left_out: tuple[str, ...] | None = None
    is_over: bool = False  # the run took place elsewhere, and its transcript is there


@dataclass(frozen=True, eq=False)
class GivenCapture:
    """A transcript, and the truth to check it against; only the attacks that are named, if any are."""

    transcript: Path
    truth: Path | None = None
    attacks: tuple[str, ...] = ()
    coalitions: tuple[tuple[str, ...], ...] = ()

    @property
    def called(self) -> str:
        truth = "" if self.truth is None else f", truth={str(self.truth)!r}"
        together = f", coalitions={list(self.coalitions)!r}" if self.coalitions else ""
        return f"transcript={str(self.transcript)!r}{truth}{together}"

    def plan(self) -> Planned:
        found = plan_captured(self.transcript, self.truth, self.attacks, self.coalitions)
        return Planned(found.scenario, found.runs, found.left_out, is_over=True)


@dataclass(frozen=True, eq=False)
class Given:
    """``called``: how Python code names it, for the line that repeats an audit."""

    scenario: Scenario
    called: str
    frame: pd.DataFrame | None = None

    def plan(self) -> Planned:
        return Planned(self.scenario, plan_audit(self.scenario, self.table()))

    def table(self) -> EncodedTable | None:
        """The frame in numbers; None where the scenario says where its data are."""
        if self.frame is None:
            return None
        from fedleak.data.encoding import encode_frame  # a check reads no data

        return encode_frame(self.frame, self.scenario.data)


def given(
    source: Source, options: FrameOptions, defenses: Defenses | None = None, attacks: Sequence[str] | None = None
) -> Given:
    """``defenses`` and ``attacks`` take the place of those that the scenario names; None leaves them as they are."""
    check_lists(defenses=defenses, attacks=attacks)
    found = _found(source, options)
    changed = found.scenario
    if defenses is not None:
        made = tuple(_defense(item, index) for index, item in enumerate(defenses))
        changed = replace(changed, defenses=made)
    if attacks is not None:
        adversaries = tuple(replace(adversary, attacks=tuple(attacks)) for adversary in changed.adversaries)
        changed = replace(changed, adversaries=adversaries)
    if changed is not found.scenario:
        check_scenario(changed)
    return replace(found, scenario=changed)


def is_gradient(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """A file with one gradient in place of a scenario."""
    return isinstance(source, str | os.PathLike) and Path(source).suffix == ".npz"


def check_lists(**given: object) -> None:
    """A single text is a sequence of letters, which nobody means."""
    for what, value in given.items():
        if isinstance(value, str):
            raise InputError(f"{what} must be a list; got {value!r}. Write [{value!r}]")


def _found(source: Source, options: FrameOptions) -> Given:
    if hasattr(source, "iloc"):  # a data frame; pandas is not loaded to find that out
        frame: pd.DataFrame = source  # type: ignore[assignment]
        return Given(read_scenario(raw_scenario(len(frame), options)), "frame, ...", frame)
    if options.named:
        raise InputError(
            f"{', '.join(options.named)} must be left out unless a data frame is given; a scenario says it itself"
        )
    if source is None:
        return Given(built_in_scenario(), "")
    if isinstance(source, Scenario):
        return Given(source, "scenario")
    if isinstance(source, Mapping):
        return Given(read_scenario(source), "scenario")
    if isinstance(source, str | os.PathLike):
        return Given(load_scenario(Path(source)), repr(os.fspath(source)))
    raise InputError(
        f"the scenario must be a path, a dictionary, a Scenario or a data frame; got {type(source).__name__}"
    )


def _defense(item: str | Mapping[str, object] | Defense, position: int) -> Defense:
    if isinstance(item, Defense):
        return item
    return read_defense({"name": item} if isinstance(item, str) else item, "defenses", position)
