"""What every cipher must do, against plain integers modulo n."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import CryptoError, DecryptionError, KeySizeError, PlaintextRangeError, UnknownNameError
from fedleak.core.payload import CipherArray
from fedleak.crypto import CIPHERS
from fedleak.crypto.cipher import PrivateKey, concatenate, select
from fedleak.crypto.fixed_point import MARGIN_BITS
from fedleak.crypto.paillier_cipher import Paillier
from fedleak.crypto.sealed import Sealed

LIMIT = 1 << 510  # under half of any modulus of 512 bits
short = st.integers(-(2**53), 2**53)
anything = st.integers(-LIMIT + 1, LIMIT - 1)
plain = st.integers(-(LIMIT >> MARGIN_BITS) + 1, (LIMIT >> MARGIN_BITS) - 1)
moderately = settings(derandomize=True, deadline=None, max_examples=30)


def residues(values: list[int], key: PrivateKey) -> list[int]:
    return [value % key.public.modulus for value in values]


@moderately
@given(values=st.lists(plain, max_size=8))
def test_decryption_gives_the_plaintexts_back(private_key: PrivateKey, values: list[int]) -> None:
    c = private_key.public.encrypt(values, 7)
    assert (c.shape, c.fraction_bits) == ((len(values),), 7)
    assert private_key.decrypt(c) == residues(values, private_key)


@moderately
@given(data=st.data())
def test_residues_can_be_encrypted_over_the_whole_range(private_key: PrivateKey, data: st.DataObject) -> None:
    n = private_key.public.modulus
    values = [0, n - 1, n // 2, *data.draw(st.lists(st.integers(0, n - 1), max_size=5))]
    assert private_key.decrypt(private_key.public.encrypt_residues(values, 0)) == values


@moderately
@given(pairs=st.lists(st.tuples(plain, plain), min_size=1, max_size=8))
def test_addition(private_key: PrivateKey, pairs: list[tuple[int, int]]) -> None:
    public = private_key.public
    a, b = ([pair[side] for pair in pairs] for side in (0, 1))
    total = public.add(public.encrypt(a, 3), public.encrypt(b, 3))
    assert total.fraction_bits == 3
    assert private_key.decrypt(total) == residues([x + y for x, y in pairs], private_key)


@moderately
@given(pairs=st.lists(st.tuples(plain, anything), min_size=1, max_size=8))
def test_addition_of_plaintext_residues_and_signed_integers(
    private_key: PrivateKey, pairs: list[tuple[int, int]]
) -> None:
    public = private_key.public
    c = public.encrypt([x for x, _ in pairs], 0)
    expected = residues([x + y for x, y in pairs], private_key)
    assert private_key.decrypt(public.add_residues(c, [y for _, y in pairs])) == expected
    assert private_key.decrypt(public.add_residues(c, residues([y for _, y in pairs], private_key))) == expected


@moderately
@given(pairs=st.lists(st.tuples(plain, st.one_of(short, plain)), min_size=1, max_size=6))
def test_multiplication_by_signed_scalars(private_key: PrivateKey, pairs: list[tuple[int, int]]) -> None:
    public = private_key.public
    product = public.multiply(public.encrypt([x for x, _ in pairs], 5), [k for _, k in pairs], scalar_fraction_bits=4)
    assert product.fraction_bits == 9
    assert private_key.decrypt(product) == residues([x * k for x, k in pairs], private_key)


@moderately
@given(
    shape=st.tuples(st.integers(0, 5), st.integers(0, 9)),
    entry=st.sampled_from([st.integers(0, 1), st.integers(-1, 1), short, st.integers(-(2**63), 2**63 - 1)]),
    data=st.data(),
)
def test_matrix_products_of_machine_words(
    private_key: PrivateKey, shape: tuple[int, int], entry: st.SearchStrategy[int], data: st.DataObject
) -> None:
    flat = data.draw(st.lists(entry, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    vector = data.draw(st.lists(plain, min_size=shape[1], max_size=shape[1]))
    matrix = np.array(flat, dtype=np.int64).reshape(shape)
    product = private_key.public.matvec(matrix, private_key.public.encrypt(vector, 10), scalar_fraction_bits=6)
    expected = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix.tolist()]
    assert (product.shape, product.fraction_bits) == ((shape[0],), 16)
    assert private_key.decrypt(product) == residues(expected, private_key)


@moderately
@given(flat=st.lists(st.one_of(st.just(0), short, anything), min_size=6, max_size=6))
def test_matrix_products_of_long_integers(private_key: PrivateKey, flat: list[int]) -> None:
    vector = [3, -5, 2**200]
    matrix = np.array(flat, dtype=object).reshape(2, 3)
    product = private_key.public.matvec(matrix, private_key.public.encrypt(vector, 0))
    expected = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix.tolist()]
    assert private_key.decrypt(product) == residues(expected, private_key)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64])
def test_matrix_products_take_any_integer_type(private_key: PrivateKey, dtype: type[np.generic]) -> None:
    matrix = np.array([[1, 0], [1, 1]]).astype(dtype)
    product = private_key.public.matvec(matrix, private_key.public.encrypt([7, -9], 0))
    assert private_key.decrypt(product) == residues([7, -2], private_key)


def test_rerandomising_changes_every_ciphertext_and_no_plaintext(private_key: PrivateKey) -> None:
    c = private_key.public.encrypt([1, -2, 3], 4)
    again = private_key.public.rerandomise(c)
    assert (again.data != c.data).any(axis=1).all()
    assert (again.shape, again.fraction_bits) == (c.shape, c.fraction_bits)
    assert private_key.decrypt(again) == private_key.decrypt(c)


def test_encrypting_twice_gives_different_ciphertexts(private_key: PrivateKey) -> None:
    c = private_key.public.encrypt([5] * 50, 0)
    assert len({row.tobytes() for row in c.data}) == 50


def test_deterministic_operations_repeat_their_bytes_as_the_group_law_says(private_key: PrivateKey) -> None:
    public = private_key.public
    a, b = public.encrypt([2, 3], 0), public.encrypt([4, 5], 0)
    assert np.array_equal(public.add(a, b).data, public.add(b, a).data)
    assert np.array_equal(public.add(a, a).data, public.multiply(a, [2, 2]).data)
    assert np.array_equal(public.matvec(np.eye(2, dtype=np.int64), a).data, a.data)
    combined = public.matvec(np.array([[-7, 9]]), a)
    apart = public.add(public.multiply(select(a, [0]), [-7]), public.multiply(select(a, [1]), [9]))
    assert np.array_equal(combined.data, apart.data)
    back = public.add_residues(public.add_residues(a, [11, 12]), [-11, -12])
    assert np.array_equal(back.data, a.data)
    assert not np.array_equal(public.add(a, b).data, public.add(a, public.rerandomise(b)).data)


def test_results_that_cross_zero_give_the_same_trivial_ciphertext(private_key: PrivateKey) -> None:
    c = private_key.public.encrypt([2, 3], 0)
    nothing = private_key.public.multiply(c, [0, 0])
    assert np.array_equal(nothing.data[0], nothing.data[1])
    assert private_key.decrypt(nothing) == [0, 0]


def test_shape_is_kept_by_elementwise_operations(private_key: PrivateKey) -> None:
    flat = private_key.public.encrypt([1, 2, 3, 4], 0)
    square = CipherArray(flat.key_id, flat.scheme, flat.data, (2, 2), 0)
    assert private_key.public.multiply(square, [1, 2, 3, 4]).shape == (2, 2)
    assert private_key.public.add(square, square).shape == (2, 2)
    with pytest.raises(CryptoError, match="one shape"):
        private_key.public.add(square, flat)


@pytest.mark.parametrize("sign", [1, -1])
def test_plaintexts_and_scalars_out_of_range_raise(private_key: PrivateKey, sign: int) -> None:
    public = private_key.public
    half, bound = public.modulus // 2, 1 << public.key_bits - MARGIN_BITS
    c = public.encrypt([sign * (bound - 1)], 0)
    for near_half in (bound, half - 1):  # two of these would add up to a small number
        with pytest.raises(PlaintextRangeError):
            public.encrypt([sign * near_half], 0)
    with pytest.raises(PlaintextRangeError):
        public.multiply(c, [sign * bound])
    with pytest.raises(PlaintextRangeError):
        public.matvec(np.array([[sign * half]], dtype=object), c)
    with pytest.raises(PlaintextRangeError):
        public.add_residues(c, [sign * (public.modulus + 1)])
    with pytest.raises(PlaintextRangeError):
        public.encrypt_residues([public.modulus if sign > 0 else -1], 0)


def test_floats_are_refused_with_the_remedy(private_key: PrivateKey) -> None:
    with pytest.raises(TypeError, match=r"fixed_point\.encode"):
        private_key.public.encrypt([0.5], 0)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"fixed_point\.encode"):
        private_key.public.encrypt(np.array([0.5]), 0)  # type: ignore[arg-type]
    with pytest.raises(CryptoError, match="of integers"):
        private_key.public.matvec(np.array([[0.5]]), private_key.public.encrypt([1], 0))  # type: ignore[arg-type]


def test_arguments_that_do_not_fit_together_raise(private_key: PrivateKey) -> None:
    public = private_key.public
    c = public.encrypt([1, 2], 3)
    with pytest.raises(CryptoError, match="equal fraction_bits"):
        public.add(c, public.encrypt([1, 2], 4))
    with pytest.raises(CryptoError, match="one integer a ciphertext"):
        public.multiply(c, [1])
    with pytest.raises(CryptoError, match="one integer a ciphertext"):
        public.add_residues(c, [1, 2, 3])
    with pytest.raises(CryptoError, match="one ciphertext a column"):
        public.matvec(np.ones((2, 3), dtype=np.int64), c)
    with pytest.raises(CryptoError, match="two-dimensional"):
        public.matvec(np.ones(2, dtype=np.int64), c)
    with pytest.raises(CryptoError, match="fraction_bits must not be negative"):
        public.encrypt([1], -1)


@pytest.mark.parametrize("cipher", [Paillier, Sealed])
def test_another_key_of_the_same_size_opens_nothing(cipher: type[Paillier] | type[Sealed]) -> None:
    mine, other = (cipher(allow_small_keys=True).generate(256) for _ in range(2))
    c = mine.public.encrypt([1], 0)
    assert mine.public.key_id != other.public.key_id
    with pytest.raises(DecryptionError, match="under the key"):
        other.decrypt(c)
    with pytest.raises(CryptoError, match="under the key"):
        other.public.add(c, c)
    try:  # a forged label does not help: the bytes mean nothing there, or something else
        opened = other.decrypt(replace(c, key_id=other.public.key_id))
    except DecryptionError:
        return
    assert opened != [1]


@pytest.mark.parametrize("cipher", [Paillier, Sealed])
def test_nothing_is_computed_with_ciphertexts_of_another_key(cipher: type[Paillier] | type[Sealed]) -> None:
    """Nor of another scheme: the result would be a number that nobody put there."""
    mine, other = (cipher(allow_small_keys=True).generate(256) for _ in range(2))
    public, right, strange = mine.public, mine.public.encrypt([5], 0), other.public.encrypt([5], 0)
    for wrong, words in ((strange, "under the key"), (replace(right, scheme="other"), "of the scheme")):
        for operation in (
            lambda c: public.add(right, c),
            lambda c: public.add(c, right),
            lambda c: public.add_residues(c, [1]),
            lambda c: public.multiply(c, [3]),
            lambda c: public.matvec(np.array([[3]]), c),
            public.rerandomise,
        ):
            with pytest.raises(CryptoError, match=words):
                operation(wrong)


def test_another_scheme_or_width_opens_nothing(private_key: PrivateKey) -> None:
    c = private_key.public.encrypt([1, 2], 0)
    with pytest.raises(DecryptionError, match="scheme"):
        private_key.decrypt(replace(c, scheme="other"))
    with pytest.raises(DecryptionError, match="bytes"):
        private_key.decrypt(replace(c, data=c.data[:, 1:]))
    with pytest.raises(CryptoError, match="bytes"):
        private_key.public.rerandomise(replace(c, data=c.data[:, 1:]))


@pytest.mark.parametrize("filler", [0, 255])
def test_made_up_ciphertexts_raise_everywhere(private_key: PrivateKey, filler: int) -> None:
    public = private_key.public
    c = public.encrypt([1], 0)
    made_up = replace(c, data=np.full_like(c.data, filler))
    with pytest.raises(DecryptionError):
        private_key.decrypt(made_up)
    for operation in (
        lambda: public.add(c, made_up),
        lambda: public.add_residues(made_up, [1]),
        lambda: public.multiply(made_up, [3]),
        lambda: public.matvec(np.array([[3]]), made_up),
        lambda: public.rerandomise(made_up),
    ):
        with pytest.raises(CryptoError):
            operation()


def test_select_and_concatenate(private_key: PrivateKey) -> None:
    c = private_key.public.encrypt([10, 20, 30], 2)
    assert private_key.decrypt(select(c, [2, 0, 0])) == [30, 10, 10]
    assert private_key.decrypt(select(c, slice(1, None))) == [20, 30]
    assert private_key.decrypt(concatenate([select(c, [1]), c])) == [20, 10, 20, 30]
    assert private_key.decrypt(concatenate([c])) == [10, 20, 30]
    with pytest.raises(CryptoError, match="concatenate"):
        concatenate([c, private_key.public.encrypt([1], 3)])


@pytest.mark.parametrize("cipher", [Paillier, Sealed])
def test_key_sizes(cipher: type[Paillier] | type[Sealed]) -> None:
    assert cipher(allow_small_keys=True).generate(256).public.modulus.bit_length() == 256
    assert cipher().generate(1024).public.n_bytes == 128
    for wrong in (1022, 0, -2, 1025, 8194):
        with pytest.raises(KeySizeError, match="Use 2048"):
            cipher().generate(wrong)
    for wrong in (254, 513):
        with pytest.raises(KeySizeError):
            cipher(allow_small_keys=True).generate(wrong)


def test_registry() -> None:
    assert {cipher.name for cipher in CIPHERS} == {"paillier", "sealed", "paillier-subgroup"}
    assert CIPHERS.get("sealed") is Sealed
    assert CIPHERS.get("paillier") is Paillier
    with pytest.raises(UnknownNameError, match='Did you mean "paillier"'):
        CIPHERS.get("pailler")


def test_ciphertexts_with_scales_of_their_own_are_opened_but_not_computed_with(private_key: PrivateKey) -> None:
    public = private_key.public
    plain = public.encrypt([3, 4], 0)
    scaled = replace(plain, exponents=np.array([1, -2]), signs=np.array([1, -1], dtype=np.int8))
    assert private_key.decrypt(scaled) == [3, 4]
    for compute in (lambda: public.add(scaled, scaled), lambda: select(scaled, [0]), lambda: concatenate([scaled])):
        with pytest.raises(CryptoError, match="one scale; got exponents or signs of their own"):
            compute()


@moderately
@given(data=st.data())
def test_sums_by_group(private_key: PrivateKey, data: st.DataObject) -> None:
    values = data.draw(st.lists(short, max_size=8))
    n_groups = data.draw(st.integers(1, 4))
    labels = st.lists(st.integers(0, n_groups - 1), min_size=len(values), max_size=len(values))
    groups = np.array([data.draw(labels) for _ in range(3)], dtype=np.int64).reshape(3, len(values))
    n_running = data.draw(st.integers(0, n_groups))
    c = private_key.public.encrypt(values, 5)
    summed = private_key.public.grouped_sum(c, groups, n_groups, n_running=n_running)
    assert (summed.shape, summed.fraction_bits) == ((3, n_groups), 5)
    wanted = [
        sum(v for v, g in zip(values, grouping, strict=True) if g == group or g < group < n_running)
        for grouping in groups
        for group in range(n_groups)
    ]
    assert private_key.decrypt(summed) == residues(wanted, private_key)


@pytest.mark.parametrize("groups", [np.array([[0, 3]]), np.array([[0, -1]]), np.array([[0]]), np.array([[0.0, 1.0]])])
def test_sums_by_groups_that_do_not_fit_are_refused(private_key: PrivateKey, groups: np.ndarray) -> None:
    with pytest.raises(CryptoError, match="groups must be"):
        private_key.public.grouped_sum(private_key.public.encrypt([1, 2], 0), groups, 3)


def test_sums_that_run_over_more_than_there_is_are_refused(private_key: PrivateKey) -> None:
    with pytest.raises(CryptoError, match="n_running must be from 0 to the 3 groups; got 4"):
        private_key.public.grouped_sum(private_key.public.encrypt([1], 0), np.array([[0]]), 3, n_running=4)
