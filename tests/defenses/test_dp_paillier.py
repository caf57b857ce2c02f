"""The defenses of Hu et al. 2022."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run, sealed, vertical
from fedleak.auditing.planner import plan
from fedleak.auditing.scenario import AdversarySpec
from fedleak.core.errors import InputError
from fedleak.core.finding import Mode
from fedleak.defenses.changed_settings import LargeInitialisation, LargerBatch, SecretSharedGradients
from fedleak.defenses.inexact_sharing import DpPaillier
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vocabulary import LinearFacts

WIDTHS = {"bank": 3, "fintech": 8}


def test_noise_has_the_deviation_of_each_role():
    federation = vertical(WIDTHS, sealed(epochs=60, batch_size=24))
    defense = DpPaillier(epsilon=0.9)
    result = run(federation, hooks=defense.hooks(federation))
    levels = defense.levels(epochs=60, rounds=60, learning_rate=0.1, batch_size=24)
    for party, sigma in (("bank", levels.active), ("fintech", levels.passive)):
        noise = np.concatenate([r.value.values for r in result.locals[party] if r.name == "noise"])
        assert np.std(noise) == pytest.approx(sigma, rel=0.05)
    assert levels.active > levels.passive


def test_everybody_knows_the_budget_and_reports_say_what_it_is_not():
    federation = vertical(WIDTHS, sealed())
    defense = DpPaillier()
    parties = tuple(party.facts for party in federation.parties)
    (_, planned) = plan(federation, (AdversarySpec(parties=("fintech",)),), (defense,), parties=parties, n_rows=24)
    facts = planned.tasks[0].facts
    levels = defense.levels(epochs=2, rounds=8, learning_rate=0.1, batch_size=6)
    assert facts.outside_noise == levels.active
    assert facts.own_noise == levels.passive
    assert facts.of(LinearFacts).epsilon == 0.5
    assert "does not bound" in " ".join(defense.notes(federation))
    assert "no proof" in " ".join(DpPaillier(as_printed=True).notes(federation))


@pytest.mark.parametrize(
    "changes", [{"epsilon": 1.0}, {"epsilon": 0.0}, {"delta": 1.0}, {"gradient_bound": 0.5}, {"rounds": -1}]
)
def test_budgets_outside_the_proof_are_refused(changes):
    with pytest.raises(InputError, match="must be"):
        DpPaillier(**changes)


def test_settings_defenses_change_what_they_say():
    federation = vertical(WIDTHS, sealed())
    assert LargeInitialisation().configure(federation).settings.initialisation == "normal"
    assert LargerBatch().configure(vertical(WIDTHS, sealed(), n_rows=32)).settings.batch_size == 16
    assert LargerBatch().configure(federation).settings.batch_size == 24  # 16 would leave 8 rows, within 8 columns
    assert LargerBatch(batch_size=100).configure(federation).settings.batch_size == 24  # all rows there are
    with pytest.raises(InputError, match="0 or more"):
        LargerBatch(batch_size=-1)


def test_shared_gradients_leave_nothing_to_see_and_attacks_are_skipped_for_that_reason():
    federation = vertical(WIDTHS, sealed())
    defense = SecretSharedGradients()
    parties = tuple(party.facts for party in federation.parties)
    adversary = AdversarySpec(parties=("fintech",), mode=Mode.ACTIVE, attacks=("residual-sign", "packed-residual-sign"))
    planned = [p for p in plan(federation, (adversary,), (defense,), parties=parties, n_rows=24) if p.defense]
    skips = {task.attack.name: task.skip for each in planned for task in each.tasks}
    assert "its own gradient in every round" in skips["residual-sign"]
    assert "ciphertexts received from partners" in skips["packed-residual-sign"]
    result = run(defense.configure(federation))
    names = {r.name for r in result.locals["fintech"]}
    assert "gradient" not in names
    assert "gradient-share" in names
    sent = {m.step for m in result.transcript.messages}
    assert sent == {"train.batch", "setup.shared-data", "train.opening"}
    assert "secret shares" in result.notes[0]


def test_shares_add_up_to_the_gradient_and_one_alone_is_noise():
    federation = vertical(WIDTHS, SecretSharedGradients().configure(vertical(WIDTHS, sealed(epochs=1))).settings)
    open_run, shared = run(vertical(WIDTHS, sealed(epochs=1))), run(federation)
    first = [next(r for r in shared.locals[party] if r.name == "gradient-share").value for party in WIDTHS]
    total = np.sum([payload.values for payload in first], axis=0, dtype=np.uint64).view(np.int64)
    signed = total[: WIDTHS["bank"]] / 2.0**20 / (4 * 6)  # a sum over six rows, four times the residual
    expected = next(r for r in open_run.locals["bank"] if r.name == "gradient").value.values
    np.testing.assert_allclose(signed, expected, atol=1e-5)


def test_a_protocol_without_the_setting_is_named():
    misfit = PROTOCOLS.get("vertical-logistic-arbiter").misfit(SecretSharedGradients())
    assert (
        misfit == "secret-shared-gradients needs the setting gradients, which vertical-logistic-arbiter does not have"
    )
