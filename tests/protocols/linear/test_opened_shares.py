"""Gradients opened from shares: the ideal functionality's bit for bit, each to its owner, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from federations import rescaled, run, sealed, vertical
from fedleak.core.errors import PlaintextRangeError, ScenarioError
from fedleak.core.transcript import EVERYONE
from fedleak.crypto.fixed_point import encode
from fedleak.crypto.ring_arithmetic import IdealRing, signed, words
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.models.sigmoid import Approximation, residual
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.opened_shares import counted_openings, gradient_shares
from fedleak.protocols.linear.shared_training import Arithmetic
from fedleak.protocols.linear.vocabulary import VerticalLogisticFacts

THREE = {"bank": 3, "fintech": 4, "shop": 2}
BITS = 20


def piecewise(widths=THREE, **changes):
    settings = {"approximation": "piecewise", "initialisation": "normal", "learning_rate": 1.0, "batch_size": 7}
    return vertical(widths, sealed(**{**settings, **changes}))


def kept(result, party, name):
    return [record.value.values for record in result.locals[party] if record.name == name]


def batches_of(result):
    return [m.payload.values - 100 for m in result.transcript.messages if m.step == "train.batch"]


def scores_for(federation, result, party, number, batch):
    """What each adds up for one party: its own score as it is, the others' with their noise."""
    for other in federation.parties:
        scores = other.train.features[batch] @ kept(result, other.name, "weights")[number]
        noise = kept(result, other.name, "noise")
        yield scores + noise[number] if noise and other.name != party else scores


def ideal_gradient(federation, scores, party, batch):
    """By one who knows every number, in the same integers."""
    signs = words(2 * federation.party("bank").train.labels[batch] - 1)[None]
    table = words(encode(federation.party(party).train.features, BITS))[None]
    total = words(np.sum([encode(one, BITS) for one in scores], axis=0))[None, None]
    how = Arithmetic(Approximation.PIECEWISE, BITS, 1.0)
    (found,), scale = gradient_shares([IdealRing(table)], total, signs, batch, how)
    return np.ldexp(signed(found[0]).astype(float), -2 * BITS) / (scale * len(batch))


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("widths", [{"bank": 3, "fintech": 4}, THREE, {"bank": 0, "fintech": 4}], ids=str)
def test_every_party_opens_the_ideal_gradient_bit_for_bit(widths, noisy):
    federation = piecewise(widths)
    hooks = GaussianNoise(sigma=0.3).hooks(federation) if noisy else ()
    result = run(federation, hooks=hooks)
    signs = 2.0 * federation.party("bank").train.labels - 1
    for number, batch in enumerate(batches_of(result)):
        for party in (party for party in federation.parties if party.columns):
            opened = kept(result, party.name, "gradient")[number]
            scores = list(scores_for(federation, result, party.name, number, batch))
            np.testing.assert_array_equal(opened, ideal_gradient(federation, scores, party.name, batch))
            expected = (
                residual(np.sum(scores, axis=0), signs[batch], Approximation.PIECEWISE) @ party.train.features[batch]
            )
            np.testing.assert_allclose(opened, expected / len(batch), atol=3e-6)


def test_shares_of_a_gradient_go_to_its_owner_alone_and_add_up():
    federation = piecewise()
    result = run(federation)
    parts = [m for m in result.transcript.messages if m.step == "train.gradient-part"]
    for party in federation.parties:
        for number, batch in enumerate(batches_of(result)):
            mine = [m for m in parts if m.receiver == party.name and m.round == number]
            assert {m.sender for m in mine} == set(THREE) - {party.name}
            total = kept(result, party.name, "gradient-part")[number] + np.sum(
                [m.payload.values for m in mine], axis=0, dtype=np.uint64
            )
            opened = np.ldexp(signed(total).astype(float), -2 * BITS) / len(batch)
            np.testing.assert_array_equal(opened, kept(result, party.name, "gradient")[number])
    others = {m.step for m in result.transcript.messages if m not in parts}
    assert others == {"train.batch", "train.opening"}
    assert all(m.receiver == EVERYONE for m in result.transcript.messages if m.step == "train.opening")


def test_what_one_partner_sends_is_uniform(monkeypatch):
    """Of words the highest digit, of bits both values, over several runs of one federation."""
    monkeypatch.setattr("fedleak.crypto.dealt_randomness.secrets.token_bytes", np.random.default_rng(3).bytes)
    federation = piecewise(epochs=1)
    sent = [m for _ in range(12) for m in run(federation).transcript.messages if m.sender == "fintech"]
    values = [m.payload.values.ravel() for m in sent]
    high = np.concatenate([part >> np.uint64(60) for part in values if part.dtype == np.uint64])
    flags = np.concatenate([part for part in values if part.dtype == np.uint8])
    alone = np.concatenate([m.payload.values >> np.uint64(60) for m in sent if m.step == "train.gradient-part"])
    assert len(high) > 40_000
    for found, n_values in ((high, 16), (alone, 16), (flags, 2)):
        assert chisquare(np.bincount(found.astype(int), minlength=n_values)).pvalue > 0.01


def test_the_facts_foretell_what_the_run_counts():
    for widths in (THREE, {"bank": 0, "fintech": 4}):
        result = run(piecewise(widths))
        known = result.transcript.facts.of(VerticalLogisticFacts)
        messages = result.transcript.messages
        sent = [m.payload.values for m in messages if m.step == "train.opening" and m.sender == "bank"]
        parts = [m.payload.values for m in messages if m.step == "train.gradient-part"]
        assert len(sent) + len(batches_of(result)) == known.shared_rounds
        assert sum(values.nbytes for values in sent) == known.shared_bytes
        assert sum(values.nbytes for values in parts) == known.opened_bytes
        assert sum(values.nbytes for values in kept(result, "bank", "dealt")) == known.dealt_bytes
        for count in (known.shared_rounds, known.shared_bytes, known.opened_bytes, known.dealt_bytes):
            assert f"{count:,} " in result.notes[0]


def test_the_cost_of_any_size_is_told_at_once():
    how = Arithmetic(Approximation.PIECEWISE, BITS, 1.0)
    (once, parts), (often, all_parts) = (counted_openings(how, 10**7, [3, 2], 4, epochs) for epochs in (1, 10**9))
    assert often.n_rounds == 2 + 10**9 * (once.n_rounds - 2)
    assert all_parts == 10**9 * parts


def test_a_number_that_does_not_fit_is_refused_before_its_round_is_sent():
    with pytest.raises(PlaintextRangeError, match="fewer share_fraction_bits"):
        run(rescaled(piecewise(share_fraction_bits=28), 1e6))


def test_what_public_sizes_rule_out_is_refused_before_anything_runs():
    protocol = PROTOCOLS.get("vertical-logistic")

    def check(batch_size):
        federation = piecewise(share_fraction_bits=28, batch_size=batch_size)
        facts = protocol.public_facts(federation, parties=federation.party_facts, n_rows=4_000)
        protocol.check_headroom(federation.settings, facts)

    check(24)
    with pytest.raises(ScenarioError, match=r"sums on shares must stay under 2\^5 at 28 fraction bits; got up to 64"):
        check(64)
