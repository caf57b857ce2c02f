"""Every protocol names the steps at which its messages and records arise, and every defense fits some protocol."""

from __future__ import annotations

import pytest
from test_defense_scope import FEDERATIONS

import horizontal
from boosted_runs import boosted
from federations import run, sealed, sealed_arbiter, vertical
from fedleak.defenses import DEFENSES
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings

ARBITERED = {"bank": 3, "fintech": 8, "referee": 0}


def steps_seen(result) -> set[str]:
    kept = {record.step for records in result.locals.values() for record in records}
    return kept | {message.step for message in result.transcript.messages}


@pytest.mark.parametrize(
    "make",
    [
        *FEDERATIONS,
        lambda: vertical(ARBITERED, sealed_arbiter(epochs=1), protocol="vertical-logistic-arbiter"),
        lambda: vertical({"bank": 3, "fintech": 8}, sealed(epochs=1, approximation="cubic")),
        lambda: boosted({"bank": 3, "fintech": 4}, n_test=5),
        lambda: horizontal.federation(
            {name: horizontal.binary(6, 3, i) for i, name in enumerate(("clinic", "hospital", "lab"))},
            HorizontalLogisticSettings(rounds=2, recovery_threshold=2, colluders=0, dropouts=("lab:1",)),
        ),
    ],
)
def test_a_run_stays_within_the_steps_that_its_protocol_names(make):
    federation = make()
    seen = steps_seen(run(federation))
    assert seen
    assert seen <= {step.name for step in PROTOCOLS.get(federation.protocol).named_steps}


@pytest.mark.parametrize("defense", DEFENSES.own, ids=lambda plugin: plugin.name)
def test_a_defense_fits_some_protocol(defense):
    assert any(protocol.misfit(defense()) is None for protocol in PROTOCOLS.own)


def test_a_defense_that_would_do_nothing_is_told_apart():
    misfit = PROTOCOLS.get("horizontal-logistic").misfit(GaussianNoise())
    assert misfit == "gaussian-noise needs the step train.shared-score, which horizontal-logistic does not have"
