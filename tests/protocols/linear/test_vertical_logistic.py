"""Vertical logistic regression without an arbiter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run, sealed, vertical
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, CipherArray, IntegerArray
from fedleak.core.transcript import EVERYONE
from fedleak.core.whole.federation import Federation

WIDTHS = {"bank": 3, "fintech": 4}


def plaintext_gradients(federation: Federation, result) -> dict[str, list[np.ndarray]]:
    """The same training without any encryption, on values rounded to the encoding's precision.

    Written from the update rule (eq. 3 and 6 of Hu et al. 2022), with exact integers where the protocol has them.
    """
    bits = federation.settings.fraction_bits
    scale = 1 << bits
    parties = [party for party in federation.parties if party.train.features.shape[1]]
    rows = {p.name: p.train.features for p in parties}
    exact = {name: np.rint(values * scale).astype(object) for name, values in rows.items()}
    signs = 2.0 * federation.party("bank").train.labels - 1
    first = {p.name: next(r for r in result.locals[p.name] if r.name == "weights").value.values for p in parties}
    weights = dict(first)
    found: dict[str, list[np.ndarray]] = {p.name: [] for p in parties}
    for message in result.transcript.messages:
        if message.receiver != EVERYONE or message.step != "train.batch":
            continue
        batch = message.payload.values - 100
        share = {n: rows[n][batch] @ weights[n] - (2.0 * signs[batch] if n == "bank" else 0.0) for n in rows}
        rounded = {n: np.rint(values * scale).astype(object) for n, values in share.items()}
        gradients = {}
        for name in rows:
            others = sum(rounded[other] for other in rows if other != name)
            product = exact[name][batch].T.dot(others)
            from_others = np.array([float(int(value)) / float(scale) ** 2 for value in product])
            gradients[name] = (from_others + rows[name][batch].T @ share[name]) / (4 * len(batch))
        for name, gradient in gradients.items():
            weights[name] = weights[name] - federation.settings.learning_rate * gradient
            found[name].append(gradient)
    return found


def gradients_of(result, party: str) -> list[np.ndarray]:
    return [record.value.values for record in result.locals[party] if record.name == "gradient"]


@pytest.mark.parametrize("initialisation", ["zero", "xavier", "kaiming", "normal"])
def test_gradients_equal_a_plaintext_reference(initialisation):
    federation = vertical(WIDTHS, sealed(initialisation=initialisation))
    result = run(federation)
    expected = plaintext_gradients(federation, result)
    for party in WIDTHS:
        np.testing.assert_allclose(gradients_of(result, party), expected[party], rtol=0, atol=1e-15)


def test_three_passive_parties_get_the_same_sums_through_blinded_shares():
    federation = vertical({"bank": 2, "fintech": 3, "shop": 2, "telecom": 2}, sealed())
    result = run(federation)
    expected = plaintext_gradients(federation, result)
    for party in ("bank", "fintech", "shop", "telecom"):
        np.testing.assert_allclose(gradients_of(result, party), expected[party], rtol=0, atol=1e-15)


def test_with_three_parties_a_single_partners_product_stays_hidden():
    """What a receiver unmasks from one partner is blinded: far wider than any product of real values."""
    result = run(vertical({"bank": 2, "fintech": 3, "shop": 2}, sealed(epochs=1)))
    masks = {r.round: r.value.to_ints() for r in result.locals["fintech"] if r.name == "mask-for-shop"}
    opened = [m for m in result.transcript.messages if m.step == "train.opened-product" and m.sender == "shop"]
    opened = [m for m in opened if m.receiver == "fintech"]
    modulus_bits = 1024
    for message in opened:
        sums = [(value + mask) for value, mask in zip(message.payload.to_ints(), masks[message.round], strict=True)]
        assert all(min(total.bit_length(), modulus_bits) > 2 * 40 + 40 for total in sums)


def test_paillier_and_sealed_agree_on_everything_but_ciphertext_bytes():
    settings = sealed(epochs=1, batch_size=12)
    ideal = run(vertical(WIDTHS, settings))
    real = run(vertical(WIDTHS, replace(settings, cipher="paillier")))
    for party in WIDTHS:
        for one, two in zip(gradients_of(ideal, party), gradients_of(real, party), strict=True):
            assert one.tobytes() == two.tobytes()
        weights = [next(reversed([r for r in run_.locals[party] if r.name == "weights"])) for run_ in (ideal, real)]
        assert weights[0].value.values.tobytes() == weights[1].value.values.tobytes()
    assert len(ideal.transcript.messages) == len(real.transcript.messages)
    for one, two in zip(ideal.transcript.messages, real.transcript.messages, strict=True):
        assert (one.step, one.round, one.sender, one.receiver) == (two.step, two.round, two.sender, two.receiver)
        assert shape_of(one.payload) == shape_of(two.payload)


def shape_of(payload) -> object:
    if isinstance(payload, Array):
        return payload.values.shape, payload.values.dtype
    if isinstance(payload, CipherArray):
        return payload.shape, payload.fraction_bits
    if isinstance(payload, IntegerArray):
        return payload.shape, payload.data.shape[1]
    return type(payload)


def test_a_seed_fixes_the_run_and_another_changes_it():
    federation = vertical(WIDTHS, sealed(initialisation="xavier"))
    once, again, other = run(federation, seed=5), run(federation, seed=5), run(federation, seed=6)
    assert gradients_of(once, "bank")[-1].tobytes() == gradients_of(again, "bank")[-1].tobytes()
    assert gradients_of(once, "bank")[-1].tobytes() != gradients_of(other, "bank")[-1].tobytes()


def test_masked_products_do_not_repeat_and_fill_the_modulus():
    """What the key holder decrypts is uniform modulo n: wide, and different in every round."""
    result = run(vertical(WIDTHS, sealed()))
    opened = [m.payload.to_ints() for m in result.transcript.messages if m.step == "train.opened-product"]
    values = [value for row in opened for value in row]
    assert len(set(values)) == len(values)
    assert np.mean([value.bit_length() > 1024 - 16 for value in values]) > 0.95


def test_the_truth_holds_labels_features_and_residuals():
    federation = vertical(WIDTHS, sealed())
    truth = run(federation).truth
    labels = truth.of(Secret(SecretKind.LABELS, "bank"))
    np.testing.assert_array_equal(labels.values[:, 0], federation.party("bank").train.labels)
    features = truth.of(Secret(SecretKind.FEATURES, "fintech"))
    np.testing.assert_array_equal(features.values, federation.party("fintech").train.features)
    residuals = truth.of(Secret(SecretKind.RESIDUALS, JOINT))
    first_round = residuals.ids[:, 0] == 0
    # At zero weights the residual is -y/2.
    signs = dict(zip(labels.ids, 2 * labels.values[:, 0] - 1, strict=True))
    expected = [-0.5 * signs[row] for row in residuals.ids[first_round, 1]]
    np.testing.assert_allclose(residuals.values[first_round, 0], expected, atol=1e-15)


def test_a_labels_only_active_party_is_legal():
    result = run(vertical({"bank": 0, "fintech": 4}, sealed(epochs=1)))
    assert gradients_of(result, "bank")[0].shape == (0,)
    assert np.abs(gradients_of(result, "fintech")[0]).max() > 0


def test_wrong_federations_are_named():
    with pytest.raises(InputError, match="one active and one or more passive"):
        run(vertical({"bank": 3}, sealed()))
    with pytest.raises(InputError, match="batch_size must be at most the 24 training rows; got 25"):
        run(vertical(WIDTHS, sealed(batch_size=25)))
    with pytest.raises(InputError, match="learning_rate must be above 0"):
        sealed(learning_rate=0.0)
    with pytest.raises(InputError, match="initialisation must be one of"):
        sealed(initialisation="zeros")


@pytest.mark.parametrize(
    ("widths", "changes"),
    [
        ({"bank": 3, "fintech": 12}, {}),
        ({"bank": 3, "fintech": 12}, {"cipher": "paillier", "epochs": 1, "batch_size": 12}),
        ({"bank": 0, "fintech": 5}, {"batch_size": 7}),
        ({"bank": 2, "fintech": 9, "shop": 4}, {}),
        ({"bank": 3, "fintech": 7}, {"approximation": "cubic"}),
    ],
)
def test_packed_products_give_the_same_gradients_in_fewer_ciphertexts(widths, changes):
    plain, packed = (run(vertical(widths, sealed(pack_products=each, **changes))) for each in (False, True))
    for party in widths:
        for one, other in zip(gradients_of(plain, party), gradients_of(packed, party), strict=True):
            assert one.tobytes() == other.tobytes()
    opened = [
        sum(len(m.payload.to_ints()) for m in each.transcript.messages if m.step == "train.opened-product")
        for each in (plain, packed)
    ]
    assert opened[1] < opened[0] / 2
