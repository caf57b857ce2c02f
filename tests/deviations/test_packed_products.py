"""Algorithm 2 of Hu et al. 2022: what the partner sees, and what the party gets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import rescaled, run, sealed, seen, vertical
from fedleak.attacks.residuals.residual_recovery import PackedResidualRecovery
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.deviations.extra_columns import ClaimedColumns
from fedleak.deviations.packed_products import PackedProducts
from fedleak.protocols.linear.linear_settings import OF_A_MEMBER
from fedleak.theory.condition import State
from fedleak.theory.packed_equations import enough_slots
from random_cases import seeds

RESIDUALS = Secret(SecretKind.RESIDUALS, JOINT)


def gradients(result, party):
    return [r.value.values for r in result.locals[party] if r.name == "gradient"]


def masked(result, sender):
    return [m.payload for m in result.transcript.messages if m.step == "train.masked-product" and m.sender == sender]


@pytest.mark.parametrize("deviating", ["bank", "fintech"])
def test_on_real_2048_bit_keys_in_both_directions(deviating):
    """u d = 31 rows over a single column: the very edge of the packing."""
    settings = sealed(cipher="paillier", key_bits=2048, batch_size=31, epochs=1, initialisation="xavier")
    federation = vertical({"bank": 1, "fintech": 1}, settings, n_rows=31)
    result = run(federation, hooks=PackedProducts().hooks(deviating))
    guess = PackedResidualRecovery().run(seen(result, (deviating,), RESIDUALS), rng=np.random.default_rng(0))
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - result.truth.of(RESIDUALS).values).max() < 1e-11


def test_training_is_bit_for_bit_unchanged():
    federation = vertical({"bank": 3, "fintech": 4}, sealed(batch_size=12))
    honest, packed = run(federation), run(federation, hooks=PackedProducts().hooks("fintech"))
    for party in ("bank", "fintech"):
        for one, two in zip(gradients(honest, party), gradients(packed, party), strict=True):
            assert one.tobytes() == two.tobytes()


def test_the_partner_sees_ciphertexts_of_the_same_form_and_uniform_values():
    federation = vertical({"bank": 3, "fintech": 4}, sealed(batch_size=12, epochs=30))
    honest, packed = run(federation), run(federation, hooks=PackedProducts().hooks("fintech"))
    forms = [
        [(p.key_id is not None, p.scheme, p.shape, p.data.shape, p.fraction_bits) for p in masked(each, "fintech")]
        for each in (honest, packed)
    ]
    assert forms[0] == forms[1]
    opened = [
        m.payload for m in packed.transcript.messages if m.step == "train.opened-product" and m.receiver == "fintech"
    ]
    shares = np.array([value / 2**1024 for payload in opened for value in payload.to_ints()])
    assert shares.min() >= 0
    assert shares.max() < 1
    # The modulus is between 2^1023 and 2^1024: against the largest value seen, uniform by the Kolmogorov distance.
    ordered = np.sort(shares / shares.max())
    distance = np.abs(ordered - np.arange(1, len(ordered) + 1) / len(ordered)).max()
    assert distance < 1.63 / np.sqrt(len(ordered))  # the 1 % point


def test_one_row_over_the_edge_falls_back_to_an_honest_round():
    federation = vertical({"bank": 1, "fintech": 1}, sealed(key_bits=2048, batch_size=32, epochs=1), n_rows=32)
    honest, packed = run(federation), run(federation, hooks=PackedProducts().hooks("fintech"))
    assert gradients(honest, "fintech")[0].tobytes() == gradients(packed, "fintech")[0].tobytes()
    guess = PackedResidualRecovery().run(seen(packed, ("fintech",), RESIDUALS), rng=np.random.default_rng(0))
    assert guess.status is Status.UNDETERMINED


@pytest.mark.parametrize(
    ("widths", "changes", "n_rows"),
    [
        ({"bank": 1, "fintech": 15}, {"batch_size": 31}, 31),
        ({"bank": 1, "fintech": 15}, {"batch_size": 32}, 32),
        ({"bank": 1, "fintech": 16}, {"batch_size": 40}, 40),
        ({"bank": 1, "fintech": 15}, {"batch_size": 31}, 40),
        ({"bank": 1, "fintech": 9, "shop": 2}, {"batch_size": 12}, 12),
        ({"bank": 1, "fintech": 9, "shop": 2}, {"batch_size": 20}, 20),
        ({"bank": 1, "fintech": 15}, {"batch_size": 9, "approximation": "cubic"}, 9),
        ({"bank": 1, "fintech": 15}, {"batch_size": 17, "approximation": "cubic"}, 17),
    ],
)
def test_where_honest_products_are_packed_fewer_ciphertexts_are_opened(widths, changes, n_rows):
    """Fifteen columns share the one ciphertext that hides 31 values, as a single column's does; theory says so."""
    settings = sealed(key_bits=2048, epochs=1, pack_products=True, **changes)
    federation = vertical(widths, settings, n_rows=n_rows)
    honest, packed = run(federation), run(federation, hooks=PackedProducts().hooks("fintech"))
    assert gradients(honest, "fintech")[0].tobytes() == gradients(packed, "fintech")[0].tobytes()
    guess = PackedResidualRecovery().run(seen(packed, ("fintech",), RESIDUALS), rng=np.random.default_rng(0))
    facts = packed.transcript.facts.seen_by(("fintech",), OF_A_MEMBER)
    expected = enough_slots(facts)
    assert expected.state is (State.HOLDS if guess.status is Status.RECOVERED else State.FAILS), expected.detail
    unpacked = enough_slots(replace(facts, own=replace(facts.own, pack_products=False)))
    assert unpacked.state is State.HOLDS, unpacked.detail


def test_a_last_batch_whose_slots_leave_fewer_ciphertexts_is_no_promise():
    """Of three parties at 4096 bits 19 columns of 45 rows take two ciphertexts, those of 40 rows one, with 26 slots."""
    settings = sealed(key_bits=4096, epochs=1, pack_products=True)
    federation = vertical({"bank": 1, "fintech": 19, "shop": 1}, settings, n_rows=6)
    facts = run(federation).transcript.facts.seen_by(("fintech",), OF_A_MEMBER)
    assert enough_slots(replace(facts, batch_size=45, n_rows=90)).state is State.HOLDS
    assert enough_slots(replace(facts, batch_size=45, n_rows=85)).state is State.UNKNOWN
    assert enough_slots(replace(facts, batch_size=40, n_rows=80)).state is State.FAILS


def test_noise_is_opened_with_the_residual():
    federation = vertical({"bank": 3, "fintech": 4}, sealed(batch_size=12, epochs=1))
    hooks = GaussianNoise(sigma=197.0, parties=("bank",)).hooks(federation) + PackedProducts().hooks("fintech")
    result = run(federation, hooks=hooks)
    guess = PackedResidualRecovery().run(seen(result, ("fintech",), RESIDUALS), rng=np.random.default_rng(0))
    noise = np.concatenate([r.value.values for r in result.locals["bank"] if r.name == "noise"])
    extra = guess.values[:, 0] - result.truth.of(RESIDUALS).values[:, 0]
    np.testing.assert_allclose(extra, noise / 4, atol=1e-10)


def packed_case(scale, *, widths, n_rows, batch_size, key_bits=1024, epochs=2, seed=0):
    """A run with features of this size, in which fintech packs: honest run, packed run, the guess."""
    settings = sealed(
        key_bits=key_bits,
        batch_size=batch_size,
        epochs=epochs,
        initialisation="xavier",
        learning_rate=min(0.3, 0.3 / scale**2),
    )
    federation = rescaled(vertical(widths, settings, n_rows=n_rows, seed=seed), scale)
    honest, packed = run(federation), run(federation, hooks=PackedProducts().hooks("fintech"))
    guess = PackedResidualRecovery().run(seen(packed, ("fintech",), RESIDUALS), rng=np.random.default_rng(0))
    return honest, packed, guess


def errors(guess, result):
    """Of every true residual, in units of the largest; NaN where the guess has none."""
    truth = result.truth.of(RESIDUALS)
    found = {tuple(key): value for key, value in zip(guess.ids.tolist(), guess.values[:, 0], strict=True)}
    guessed = np.array([found.get(tuple(key), np.nan) for key in truth.ids.tolist()])
    return np.abs(guessed - truth.values[:, 0]) / max(1.0, np.abs(truth.values).max())


def packing_notes(result):
    return [r.value.value for r in result.locals["fintech"] if r.name == "packing"]


@pytest.mark.parametrize("scale", [1.0, 3e4, 1e6])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_features_that_are_not_normalised_fit_their_slots(scale, seed):
    honest, packed, guess = packed_case(scale, widths={"bank": 3, "fintech": 4}, n_rows=24, batch_size=12, seed=seed)
    assert packing_notes(packed) == []
    assert guess.status is Status.RECOVERED
    assert errors(guess, packed).max() < 1e-11
    for one, two in zip(gradients(honest, "fintech"), gradients(packed, "fintech"), strict=True):
        assert one.tobytes() == two.tobytes()


def test_at_the_edge_a_value_that_overflows_is_noticed_and_not_risked_again():
    """31 rows over one column need slots of 64 bits, which values of 20 bits before the point overflow."""
    _, packed, guess = packed_case(
        1e6, widths={"bank": 3, "fintech": 1}, n_rows=31, batch_size=31, key_bits=2048, epochs=3
    )
    assert packing_notes(packed) == ["a value did not fit its slot"] + ["too few slots for the batch"] * 2
    assert guess.status is Status.UNDETERMINED
    assert "1 of 3 batches gave no equation" in guess.why
    assert np.isnan(guess.values).all()


def test_a_partner_that_never_opens_leaves_the_others_sum_open():
    """With three parties a single partner's values are blinded: they are no residuals before all are summed."""
    federation = vertical({"bank": 3, "fintech": 4, "shop": 2}, sealed(batch_size=6, epochs=1, key_bits=2048))
    result = run(federation, hooks=PackedProducts().hooks("fintech"))
    kept = [r for r in result.locals["fintech"] if r.name != "opened-shares-from-shop"]
    view = seen(replace(result, locals={**result.locals, "fintech": kept}), ("fintech",), RESIDUALS)
    guess = PackedResidualRecovery().run(view, rng=np.random.default_rng(0))
    assert guess.status is Status.UNDETERMINED
    assert np.isnan(guess.values).all()


@pytest.mark.parametrize("seed", seeds(25))
def test_recovered_means_every_residual_of_every_round(seed):
    """Whatever the scale, the batch and the key: nothing dropped, nothing wrong."""
    rng = np.random.default_rng(seed)
    scale = float(10.0 ** rng.uniform(-2, 6))
    others = {"shop": int(rng.integers(1, 3))} if rng.random() < 0.3 else {}
    widths = {"bank": int(rng.integers(1, 4)), "fintech": int(rng.integers(1, 3)), **others}
    batch_size = int(rng.integers(2, 34))
    _, packed, guess = packed_case(
        scale,
        widths=widths,
        n_rows=int(rng.integers(batch_size, 50)),
        batch_size=batch_size,
        key_bits=int(rng.choice([1024, 2048])),
        seed=seed,
    )
    found = errors(guess, packed)
    if guess.status is Status.RECOVERED:
        assert found.max() < 1e-9
    elif np.isfinite(found).any():
        assert np.nanmax(found) < 1e-9


def test_claimed_columns_leave_the_model_as_it_is():
    federation = vertical({"bank": 3, "fintech": 4}, sealed())
    honest, claimed = run(federation), run(federation, hooks=ClaimedColumns(n_extra=5).hooks("fintech"))
    assert honest.utility == claimed.utility
    for one, two in zip(gradients(honest, "fintech"), gradients(claimed, "fintech"), strict=True):
        np.testing.assert_allclose(two[:4], one, atol=1e-15)
        assert two[4:].tolist() == [0.0] * 5
