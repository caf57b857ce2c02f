from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import CryptoError, PlaintextRangeError
from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.packing import capacity, pack, pack_ciphertexts, unpack
from fedleak.crypto.paillier_cipher import PaillierPrivateKey

MODULUS = (1 << 511) + 187


@st.composite
def slots(draw: st.DrawFn) -> tuple[int, list[int]]:
    slot_bits = draw(st.integers(2, 100))
    limit = 2 ** (slot_bits - 1) - 1
    values = draw(st.lists(st.integers(-limit, limit), min_size=1, max_size=min(12, capacity(512, slot_bits))))
    return slot_bits, values


@settings(derandomize=True, deadline=None, max_examples=100)
@given(case=slots())
def test_packing_round_trip(case: tuple[int, list[int]]) -> None:
    slot_bits, values = case
    packed = pack(values, slot_bits, 512)
    assert packed == sum(value << (slot * slot_bits) for slot, value in enumerate(values))
    assert unpack(packed % MODULUS, len(values), slot_bits, MODULUS) == values


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("slot_bits", [2, 7, 73, 255])
def test_a_full_plaintext_of_extreme_values_fits(sign: int, slot_bits: int) -> None:
    n_slots = capacity(512, slot_bits)
    values = [sign * (2 ** (slot_bits - 1) - 1)] * n_slots
    smallest_modulus = (1 << 511) + 1
    packed = pack(values, slot_bits, 512)
    assert abs(packed) < smallest_modulus // 2
    assert unpack(packed % smallest_modulus, n_slots, slot_bits, smallest_modulus) == values


@settings(derandomize=True, deadline=None, max_examples=20)
@given(data=st.data(), n_slots=st.integers(1, 4))
def test_packed_ciphertexts_open_to_the_values(private_key: PrivateKey, data: st.DataObject, n_slots: int) -> None:
    values = data.draw(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=9))
    c = private_key.public.encrypt(values, 20)
    packed = pack_ciphertexts(private_key.public, c, 100, n_slots)
    assert (packed.shape, packed.fraction_bits) == ((-(-len(values) // n_slots),), 20)
    opened = [unpack(r, n_slots, 100, private_key.public.modulus) for r in private_key.decrypt(packed)]
    flat = [value for run in opened for value in run]
    assert flat[: len(values)] == values
    assert not any(flat[len(values) :])


def test_by_default_as_many_as_fit(paillier: PaillierPrivateKey) -> None:
    c = paillier.public.encrypt(list(range(8)), 0)
    packed = pack_ciphertexts(paillier.public, c, 73)
    assert packed.shape == (2,)  # floor(511 / 73) = 7 slots
    assert unpack(paillier.decrypt(packed)[0], 7, 73, paillier.public.modulus) == list(range(7))


def test_slots_add_up_under_encryption(paillier: PaillierPrivateKey) -> None:
    public = paillier.public
    total = public.add(public.encrypt([pack([5, -6], 30, 512)], 0), public.encrypt([pack([-7, 8], 30, 512)], 0))
    assert unpack(paillier.decrypt(total)[0], 2, 30, public.modulus) == [-2, 2]


@pytest.mark.parametrize("value", [8, -8, 100])
def test_values_wider_than_a_slot_raise(value: int) -> None:
    with pytest.raises(PlaintextRangeError, match="slot values"):
        pack([1, value], 4, 512)


def test_an_overflowing_slot_is_detected_at_the_top() -> None:
    with pytest.raises(PlaintextRangeError, match="a slot overflowed"):
        unpack(2**20, 2, 10, MODULUS)
    with pytest.raises(PlaintextRangeError, match="a slot overflowed"):
        unpack(MODULUS - 2**20, 2, 10, MODULUS)


def test_wrong_numbers_of_slots_raise(paillier: PaillierPrivateKey) -> None:
    for slot_bits in (1, 512):
        with pytest.raises(PlaintextRangeError, match="slot_bits"):
            capacity(512, slot_bits)
    with pytest.raises(PlaintextRangeError, match="n_slots"):
        pack([], 10, 512)
    with pytest.raises(PlaintextRangeError, match="n_slots"):
        pack([0] * 8, 73, 512)
    with pytest.raises(PlaintextRangeError, match="n_slots"):
        unpack(0, 8, 73, MODULUS)
    with pytest.raises(CryptoError, match="at least one"):
        pack_ciphertexts(paillier.public, paillier.public.encrypt([], 0), 10)
