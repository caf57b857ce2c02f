"""What can be changed in a scenario, as lines of scenarios from the weakest change of a kind to the strongest.

Which settings and parameters are worth a try, and which way, their fields say (``tells_less``); which defenses fit, the
protocol says. Nothing here knows a protocol by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field, fields, replace
from functools import partial
from typing import Any

from fedleak.advising.worth import SERVED_SHARE
from fedleak.auditing.advice_applied import applied
from fedleak.auditing.scenario import Scenario
from fedleak.core.errors import FedleakError, InputError
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.theory.countermeasures import COUNTERMEASURES

Line = tuple[Scenario, ...]
N_RUNGS = 6  # of a setting, each twice or half the one before
DEFENSE_RUNGS = tuple(4.0**power for power in range(-3, 5))  # times the usual strength, for parameters with fractions
WHOLE_RUNGS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # the same for whole numbers
FACTORS = (0.25, 0.5, 2.0, 4.0)  # around a change that closes
NEAR = (0.5, 0.7)  # of a defense's strength that closes: less of it may do


def lines(scenario: Scenario, federation: Federation) -> Iterator[Line]:
    """Cheap ones first: settings, then defenses, then what makes another federation of it."""
    yield from _setting_lines(scenario, federation.n_rows)
    if not scenario.defenses:  # each gets a run of its own: two are never in force together
        yield from _defense_lines(scenario, federation)
    for measure in COUNTERMEASURES:
        if scenario.protocol in measure.protocols and (measure.protocol or measure.further_parties):
            yield from _runnable([partial(applied, scenario, measure)])


def steps(scenario: Scenario) -> Iterator[Line]:
    """Around a scenario that closes the leak: every setting a step either way, and less of the defense."""
    for one in _searched(scenario.settings):
        value = getattr(scenario.settings, one.name)
        if one.name == SERVED_SHARE:  # other rows would be predicted: what the model is worth could not be compared
            continue
        if one.metadata["tells_less"] == "other":
            changed = _others(one, value)
        elif isinstance(value, int):
            changed = [max(1, round(value * factor)) for factor in FACTORS]
        else:
            changed = [value * factor for factor in FACTORS if value]  # 0 stands for what is chosen by size
        for item in dict.fromkeys(changed):
            yield from _runnable([partial(_with_setting, scenario, one.name, item)])
    for defense in scenario.defenses:
        for one in _searched(defense)[:1]:
            value, less = getattr(defense, one.name), one.metadata["tells_less"] == "more"
            for factor in NEAR:
                weaker = value * factor if less else value / factor
                weaker = round(weaker) if isinstance(value, int) else float(f"{weaker:.3g}")
                yield from _runnable([partial(_weakened, scenario, defense, one.name, weaker)])


def _setting_lines(scenario: Scenario, n_rows: int) -> Iterator[Line]:
    for one in _searched(scenario.settings):
        value, way = getattr(scenario.settings, one.name), one.metadata["tells_less"]
        if way == "other":
            for item in _others(one, value):
                yield from _runnable([partial(_with_setting, scenario, one.name, item)])
            continue
        if not value:  # 0 stands for something else, such as all rows
            continue
        rungs = [value * 2**power if way == "more" else value / 2**power for power in range(1, N_RUNGS + 1)]
        if isinstance(value, int):
            whole = [int(rung) for rung in rungs if rung >= 1]
            rows = one.metadata["unit"] == "rows"
            rungs = [rung for rung in whole if rung < n_rows] + [n_rows] if rows and way == "more" else whole
        yield from _runnable(partial(_with_setting, scenario, one.name, rung) for rung in dict.fromkeys(rungs))


def _defense_lines(scenario: Scenario, federation: Federation) -> Iterator[Line]:
    protocol = PROTOCOLS.get(scenario.protocol)
    for kind in DEFENSES:
        try:
            usual = kind()
        except (FedleakError, TypeError):  # one that cannot do without a parameter
            continue
        if protocol.misfit(usual) is not None:
            continue
        strengths = list(_strengths(usual))
        made = _with_defense if kind.acts_at else partial(_configured, federation)
        yield from _runnable(partial(made, scenario, one) for one in strengths)


def _configured(federation: Federation, scenario: Scenario, defense: Defense) -> Scenario:
    """Of a defense that is nothing but other settings: they stand in the scenario itself."""
    return replace(scenario, settings=defense.configure(federation).settings)


def _strengths(usual: Defense) -> Iterator[Defense]:
    """From weak to strong, by its first parameter that says which way it tells less; the usual one where none does."""
    searched = _searched(usual)
    if not searched:
        yield usual
        return
    one = searched[0]
    value, way = getattr(usual, one.name), one.metadata["tells_less"]
    whole = isinstance(value, int)
    values = dict.fromkeys(
        int(value * factor) if whole else float(f"{value * factor:.3g}")
        for factor in (WHOLE_RUNGS if whole else DEFENSE_RUNGS)
    )
    for item in sorted(values, reverse=way == "fewer"):
        try:
            yield replace(usual, **{one.name: item})
        except InputError:  # outside what the parameter may be
            continue


def _searched(described: Any) -> list[Field[Any]]:
    return [one for one in fields(described) if one.metadata.get("tells_less")]


def _others(one: Field[Any], value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value]
    return [choice for choice in one.metadata["choices"] if choice != value]


def _with_setting(scenario: Scenario, name: str, value: object) -> Scenario:
    changes: dict[str, Any] = {name: value}
    return replace(scenario, settings=replace(scenario.settings, **changes))


def _with_defense(scenario: Scenario, defense: Defense) -> Scenario:
    return replace(scenario, defenses=(defense,))


def _weakened(scenario: Scenario, defense: Defense, name: str, value: float) -> Scenario:
    changes: dict[str, Any] = {name: value}
    return _with_defense(scenario, replace(defense, **changes))


def _runnable(makers: Iterable[Callable[[], Scenario]]) -> Iterator[Line]:
    """Of what the scenarios themselves allow; whether data allow it too is seen when they are planned."""
    made = []
    for make in makers:
        try:
            made.append(make())
        except FedleakError:
            continue
    if made:
        yield tuple(made)
