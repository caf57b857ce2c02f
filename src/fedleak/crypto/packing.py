"""Several short integers in one plaintext: the sum of E_s·2^(s·iota) over the slots s.

Additions act on all slots at once, and one decryption opens them all. What a dishonest party opened in this way it
keeps as signed integers modulo 2^512: with three or more parties the values carry blinds that cancel only in the sum
over partners, so they stay integers until then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import CryptoError, PlaintextRangeError
from fedleak.core.payload import CipherArray, IntegerArray
from fedleak.crypto.cipher import PublicKey, concatenate, select
from fedleak.crypto.fixed_point import centred, check_residues, check_signed


def capacity(key_bits: int, slot_bits: int) -> int:
    """How many slots fit: floor((kappa - 1)/iota)."""
    if not 2 <= slot_bits < key_bits:
        raise PlaintextRangeError(f"slot_bits must be from 2 to {key_bits - 1}; got {slot_bits}")
    return (key_bits - 1) // slot_bits


def bits_of_sum(value_bits: int, n_values: int) -> int:
    """Of a signed sum over so many values of that length, each times a factor of one bit."""
    return value_bits + n_values.bit_length() + 1


def pack(values: Sequence[int], slot_bits: int, key_bits: int) -> int:
    """The plaintext (signed) that holds the values, each under 2^(slot_bits - 1) in magnitude, lowest slot first."""
    _check_slots(len(values), slot_bits, key_bits)
    packed = 0
    for value in reversed(check_signed("slot values", list(values), 1 << (slot_bits - 1))):
        packed = (packed << slot_bits) + value
    return packed


def unpack(residue: int, n_slots: int, slot_bits: int, modulus: int) -> list[int]:
    """The signed values in the slots of a decrypted residue; exact while every slot stayed in its range."""
    _check_slots(n_slots, slot_bits, modulus.bit_length())
    rest = centred(check_residues([residue], modulus)[0], modulus)
    base, half = 1 << slot_bits, 1 << (slot_bits - 1)
    values = []
    for _ in range(n_slots):
        value = rest % base
        if value >= half:  # a negative slot borrowed from the next one: give it back
            value -= base
        values.append(value)
        rest = (rest - value) >> slot_bits
    if rest:
        raise PlaintextRangeError(
            f"a packed plaintext must fill at most {n_slots} slots of {slot_bits} bits; got more: a slot overflowed"
        )
    return values


def pack_ciphertexts(public_key: PublicKey, c: CipherArray, slot_bits: int, n_slots: int | None = None) -> CipherArray:
    """Packs each run of ``n_slots`` ciphertexts (by default as many as fit) into one.

    Without the private key: Horner's rule, by ``multiply`` and ``add``. The last run may be shorter; its upper slots
    are then zero. Re-randomise the result before sending it.
    """
    slots = capacity(public_key.key_bits, slot_bits) if n_slots is None else n_slots
    _check_slots(slots, slot_bits, public_key.key_bits)
    n_full = len(c.data) // slots * slots
    runs = [(select(c, slice(n_full)), slots), (select(c, slice(n_full, None)), len(c.data) - n_full)]
    parts = [_pack_runs(public_key, run, slot_bits, length) for run, length in runs if len(run.data)]
    if not parts:
        raise CryptoError("there must be at least one ciphertext to pack; got none")
    return concatenate(parts)


def _pack_runs(public_key: PublicKey, c: CipherArray, slot_bits: int, length: int) -> CipherArray:
    packed = select(c, slice(length - 1, None, length))
    for slot in range(length - 2, -1, -1):
        shifted = public_key.multiply(packed, [1 << slot_bits] * len(packed.data))
        packed = public_key.add(shifted, select(c, slice(slot, None, length)))
    return packed


def _check_slots(n_slots: int, slot_bits: int, key_bits: int) -> None:
    if not 1 <= n_slots <= capacity(key_bits, slot_bits):
        raise PlaintextRangeError(
            f"n_slots must be from 1 to {capacity(key_bits, slot_bits)} for slots of {slot_bits} bits under a key of "
            f"{key_bits} bits; got {n_slots}"
        )


OPENED_SHARE_BITS = 512


def opened_shares_payload(values: Sequence[int]) -> IntegerArray:
    return IntegerArray.from_ints([value % (1 << OPENED_SHARE_BITS) for value in values], OPENED_SHARE_BITS // 8)


def sum_of_opened_shares(parts: Sequence[IntegerArray], fraction_bits: int) -> FloatArray:
    """The sum over partners, value by value, as real numbers."""
    modulus, half, unit = 1 << OPENED_SHARE_BITS, 1 << (OPENED_SHARE_BITS - 1), 1 << fraction_bits
    totals = [sum(values) % modulus for values in zip(*(part.to_ints() for part in parts), strict=True)]
    return np.array([(total - modulus if total >= half else total) / unit for total in totals])
