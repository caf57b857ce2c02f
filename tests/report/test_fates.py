"""What became of a leak under a defense: neither giving up nor another way to the same secret is a success."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_honest_outcomes import CLEAN, FEATURES, ended, leak, report

from fedleak.auditing.advisor import advice
from fedleak.core.defended import Fate, fates
from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.report.defense_effect import best_effect, effects
from fedleak.report.verdict import statement

BARE = leak(Severity.HIGH)
DETOUR = leak(Severity.HIGH, attack="detour")


def under(finding: Finding, **changes: Any) -> Finding:
    return replace(finding, defense="d", **changes)


CASES = {
    "measured": ([BARE, under(CLEAN)], Fate.STOPPED),
    "refuted by the view": ([BARE, under(ended(Outcome.NOT_IDENTIFIABLE))], Fate.STOPPED),
    "nothing left to work on": ([BARE, under(ended(Outcome.SKIPPED, "impossible"))], Fate.RULED_OUT),
    "skipped for another reason": ([BARE, under(ended(Outcome.SKIPPED))], Fate.UNANSWERED),
    "gave up": ([BARE, under(ended(Outcome.UNDETERMINED))], Fate.UNANSWERED),
    "failed": ([BARE, under(ended(Outcome.ERRORED))], Fate.UNANSWERED),
    "gave up, though theory calls it impossible": (
        [BARE, under(ended(Outcome.UNDETERMINED, "impossible"))],
        Fate.UNANSWERED,
    ),
    "gave up, and another that never leaked is clean": (
        [BARE, under(ended(Outcome.UNDETERMINED)), under(CLEAN, attack="weak")],
        Fate.UNANSWERED,
    ),
    "another attack still leaks": ([BARE, DETOUR, under(CLEAN), under(DETOUR)], Fate.LEFT),
    "another attack leaks for the first time": ([BARE, under(CLEAN), under(DETOUR)], Fate.LEFT),
    "another attack leaks less": (
        [BARE, DETOUR, under(CLEAN), under(DETOUR, severity=Severity.LOW)],
        Fate.WEAKENED,
    ),
    "one measured, the other has nothing to work on": (
        [BARE, DETOUR, under(CLEAN), under(ended(Outcome.SKIPPED, "impossible"), attack="detour")],
        Fate.STOPPED,
    ),
    "one measured, the other gave up": (
        [BARE, DETOUR, under(CLEAN), under(ended(Outcome.UNDETERMINED), attack="detour")],
        Fate.UNANSWERED,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_fate_of_a_leak(case: str) -> None:
    findings, expected = CASES[case]
    assert list(fates(findings, "d").values()) == [expected]
    (effect,) = effects(report(findings))
    counted = {
        Fate.STOPPED: effect.n_stopped,
        Fate.RULED_OUT: effect.n_ruled_out,
        Fate.WEAKENED: effect.n_weakened,
        Fate.UNANSWERED: effect.n_unanswered,
        Fate.LEFT: effect.n_left,
    }
    assert counted == {fate: int(fate is expected) for fate in Fate}
    assert effect.n_tried == 1


SAID = {
    Fate.STOPPED: "d stops what fintech learns of labels of bank",
    Fate.RULED_OUT: "d leaves nothing to attack in what fintech learns of labels of bank",
    Fate.WEAKENED: "d only weakens what fintech learns of labels of bank, by detour (auc from 0.970 to 0.970",
    Fate.LEFT: "d does not stop what fintech learns of labels of bank, by detour (auc from 0.970 to 0.970",
    Fate.UNANSWERED: "Whether d stops what fintech learns of labels of bank is not known: ",
}


@pytest.mark.parametrize("case", CASES)
def test_what_to_change_says_the_same(case: str) -> None:
    findings, expected = CASES[case]
    (told,) = advice(findings, [])
    assert told.sentence.startswith(SAID[expected])
    assert told.defense == "d"


def test_three_of_four_attacks_that_give_up_stop_nothing() -> None:
    """A larger batch: three attacks have no answer any more, and the fourth still has the labels."""
    bare = [leak(Severity.HIGH, attack=name) for name in ("a", "b", "c", "d")]
    after = [under(ended(Outcome.NOT_IDENTIFIABLE, attack=name)) for name in ("a", "b", "c")]
    given = report([*bare, *after, under(leak(Severity.HIGH, attack="d"))])
    (effect,) = effects(given)
    assert (effect.n_tried, effect.n_stopped) == (1, 0)
    assert best_effect(given, bare[0]) is None
    assert statement(given).remedy == "No defense that was tried (d) stops or weakens a leak."


def test_leaks_of_two_secrets_are_two() -> None:
    other = leak(Severity.LOW, secret=FEATURES)
    (effect,) = effects(report([BARE, other, under(CLEAN), under(other)]))
    assert (effect.n_tried, effect.n_stopped, effect.n_left) == (2, 1, 1)
    assert effect.words() == "stops 1 of the 2 leaks that it was tried on; 1 stays as bad as before"
