"""Every defense changes only the settings and the steps that it names."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import horizontal
from boosted_runs import boosted
from federations import run, sealed, vertical
from fedleak.core.steps import OWN_DATA
from fedleak.core.whole.hooks import Defense, Hook, HookKind
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.protocols.linear.vocabulary import UPDATE
from fedleak.protocols.prediction.served_model import PredictionSettings
from network_runs import cut_table, split

FEDERATIONS = [
    lambda: vertical({"bank": 3, "fintech": 8}, sealed(epochs=1)),
    lambda: horizontal.federation(
        {"bank": horizontal.binary(9, 4), "fintech": horizontal.binary(8, 4, 1)},
        HorizontalLogisticSettings(rounds=2, batch_size=4),
    ),
    lambda: vertical(
        {"bank": 3, "fintech": 8},
        PredictionSettings(unit_box=False, prediction_share=0.5),
        protocol="vertical-prediction",
    ),
    lambda: boosted({"bank": 3, "fintech": 8}),
    lambda: split(cut_table()),
    cut_table,
]


def federation(defense: Defense):
    """The first one whose protocol the defense fits."""
    fitting = (make() for make in FEDERATIONS)
    return next((one for one in fitting if PROTOCOLS.get(one.protocol).misfit(defense) is None), FEDERATIONS[0]())


def settings_changed(defense: Defense) -> set[str]:
    before = federation(defense)
    after = defense.configure(before)
    assert [party.name for party in after.parties] == [party.name for party in before.parties]
    return {
        f.name for f in fields(before.settings) if getattr(before.settings, f.name) != getattr(after.settings, f.name)
    }


def first_difference(defense: Defense) -> str | None:
    """The step of the first message that is not as it is without the defense."""
    base = federation(defense)
    plain = run(base)
    defended = run(defense.configure(base), hooks=defense.hooks(base))
    for one, two in zip(plain.transcript.messages, defended.transcript.messages, strict=False):
        if one.step != two.step:  # other trees have other messages
            return one.step
        readable = hasattr(one.payload, "values")
        if readable and one.payload.values.tobytes() != two.payload.values.tobytes():
            return one.step
    return None


def violations(defense: Defense) -> list[str]:
    found = [f"changes the setting {name}" for name in settings_changed(defense) - defense.changes]
    named = {step.name for step in defense.acts_at}
    found += [f"acts at {hook.step.name}" for hook in defense.hooks(federation(defense)) if hook.step.name not in named]
    if not defense.changes:
        found += _moved_early(defense)
    return found


def _moved_early(defense: Defense) -> list[str]:
    """Hooks alone leave the batches, the data and the first weights as they are."""
    base = federation(defense)
    plain, defended = run(base), run(base, hooks=defense.hooks(base))
    found = []
    if first_difference(defense) == "train.batch":
        found.append("moves the batches")
    for party in ("bank", "fintech"):
        for name in ("features", "weights"):
            if name not in {record.name for record in plain.locals[party]} or OWN_DATA in defense.acts_at:
                continue
            one, two = (next(r for r in x.locals[party] if r.name == name).value for x in (plain, defended))
            if one.values.tobytes() != two.values.tobytes():
                found.append(f"changes {name} of {party} at the start")
    return found


@pytest.mark.parametrize("defense", DEFENSES.own, ids=lambda plugin: plugin.name)
def test_a_defense_stays_within_what_it_names(defense):
    assert violations(defense()) == []


class Overreaches(Defense):
    name = "overreaches"
    summary = "says that it acts at the update, and changes the data"
    acts_at = frozenset({UPDATE})

    def configure(self, federation):
        return federation.with_settings(batch_size=3)

    def hooks(self, federation):
        return (Hook(OWN_DATA, HookKind.INPUT, "bank", lambda value, local, rng: np.zeros_like(value)),)


def test_a_defense_that_overreaches_is_caught():
    found = violations(Overreaches())
    assert "changes the setting batch_size" in found
    assert "acts at setup.own-data" in found
    assert "changes features of bank at the start" in found
