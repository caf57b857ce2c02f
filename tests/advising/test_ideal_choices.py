"""A protocol may have choices that exist as ideal functionality alone: advice says so, and prefers what really runs."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from fedleak.advising.advice import _is_real_among
from fedleak.advising.remedy import Change, Cost, Remedy
from fedleak.core.whole.federation import Settings, setting


@dataclass(frozen=True)
class Wished(Settings):
    comparison: str = setting("plain", "how numbers are compared", choices=("plain", "secure"), ideal=("secure",))


IDEAL, REAL = Wished("secure"), Wished()


def test_only_the_choice_that_is_in_force_is_marked():
    assert IDEAL.ideal_choices == ('comparison = "secure"',)
    assert REAL.ideal_choices == ()


def test_a_remedy_says_what_is_not_run():
    for settings in (IDEAL, REAL):
        remedy = Remedy(Change(("comparison",), "", None, settings.ideal_choices), (), (), (), Cost(None, None))
        told = [line for line in remedy.lines() if "ideal functionality" in line]
        assert told == [
            f"{choice} is an ideal functionality here: the protocol that would do it is not run"
            for choice in settings.ideal_choices
        ]
        assert remedy.to_json()["ideal_functionality"] == list(settings.ideal_choices)


def test_what_really_runs_is_waited_for_where_it_closes():
    def tried(settings, *, closes):
        return [SimpleNamespace(scenario=SimpleNamespace(settings=settings), closes=closes)]

    wished, real, open_still = tried(IDEAL, closes=True), tried(REAL, closes=True), tried(REAL, closes=False)
    assert _is_real_among({("a",): wished, ("b",): real}, 0)
    assert not _is_real_among({("a",): wished, ("b",): open_still}, 0)
    assert not _is_real_among({("a",): real, ("b",): real}, 0)
