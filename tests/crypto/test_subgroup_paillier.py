"""Keys of small subgroups: the plain scheme's plaintexts and ciphertexts, opened by shorter powers."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import phe
import pytest

from federations import run, sealed, vertical
from fedleak.auditing.estimate import assumptions
from fedleak.core.errors import DecryptionError
from fedleak.crypto import CIPHERS
from fedleak.crypto.bigint import Mpz, powmod
from fedleak.crypto.cipher import CIPHER_CHOICES
from fedleak.crypto.paillier_cipher import PaillierPublicKey
from fedleak.crypto.sent_keys import private_key_from_payload
from fedleak.crypto.subgroup_paillier import ORDER_BITS, SubgroupPaillier

VALUES = [0, 1, -1, 2**53, -(2**90), 12345]


@pytest.fixture(scope="module")
def key():
    return SubgroupPaillier().generate(1024)


def signed(residues, modulus):
    return [value - modulus if value > modulus // 2 else value for value in residues]


def test_arithmetic_opens_to_the_integers_and_phe_reads_it(key):
    public = key.public
    c = public.encrypt(VALUES, 0)
    assert signed(key.decrypt(c), public.modulus) == VALUES
    assert signed(key.decrypt(public.add(c, public.rerandomise(c))), public.modulus) == [2 * v for v in VALUES]
    assert signed(key.decrypt(public.multiply(c, [-7] * len(VALUES))), public.modulus) == [-7 * v for v in VALUES]
    (product,) = signed(key.decrypt(public.matvec(np.array([[3, -2, 5, 1, 0, 4]]), c)), public.modulus)
    assert product == sum(a * b for a, b in zip([3, -2, 5, 1, 0, 4], VALUES, strict=True))
    theirs = phe.PaillierPrivateKey(phe.PaillierPublicKey(public.modulus), key.p, key.q)
    assert (
        signed([theirs.raw_decrypt(int.from_bytes(row.tobytes(), "big")) for row in c.data], public.modulus) == VALUES
    )


def test_the_generator_has_a_short_order_modulo_each_prime_and_the_key_its_form(key):
    half_p, half_q = key._halves
    for prime, order in ((key.p, half_p._exponent), (key.q, half_q._exponent)):
        assert order.bit_length() == ORDER_BITS
        assert (prime - 1) % order == 0
        assert prime % 4 == 3
        square = Mpz(prime) ** 2
        assert powmod(Mpz(key.public.generator), order, square) == 1
        assert Mpz(key.public.generator) % prime != 1
    assert key.public.key_bits == 1024
    assert half_p._exponent != half_q._exponent


def test_two_encryptions_of_a_number_differ_and_travel_with_their_exponents(key):
    one, two = (key.public.encrypt([5], 0).data for _ in range(2))
    assert one.tobytes() != two.tobytes()
    again = pickle.loads(pickle.dumps(key.public))  # noqa: S301  (made a line above)
    assert again._exponent_bytes == key.public._exponent_bytes == (2 * ORDER_BITS + 128) // 8


def test_whoever_has_the_primes_opens_it_as_a_plain_key(key):
    plain = private_key_from_payload(key.to_payload())
    c = key.public.encrypt(VALUES, 0)
    assert plain.decrypt(c) == key.decrypt(c)


def test_what_was_blinded_outside_the_subgroup_raises(key):
    generator = int(powmod(Mpz(3), key.public.modulus, Mpz(key.public.modulus) ** 2))
    stranger = PaillierPublicKey(key.public.modulus, generator)
    foreign = stranger.encrypt([1], 0)
    object.__setattr__(foreign, "key_id", key.public.key_id)
    with pytest.raises(DecryptionError, match="blinded otherwise"):
        key.decrypt(foreign)


def test_a_run_has_the_gradients_of_the_ideal_cipher_and_its_report_the_assumption():
    settings = sealed(epochs=1, batch_size=12)
    federation = vertical({"bank": 2, "fintech": 2}, settings)
    ideal, real = (run(federation.with_settings(cipher=name)) for name in ("sealed", "paillier-subgroup"))
    for party in ("bank", "fintech"):
        one, two = ([r.value.values for r in x.locals[party] if r.name == "gradient"] for x in (ideal, real))
        np.testing.assert_array_equal(one, two)
    facts = real.transcript.facts
    chosen = federation.with_settings(cipher="paillier-subgroup")
    told, too_short = assumptions(chosen.settings, facts)
    assert "partial discrete logarithm" in told
    assert "keys have 1024 bits: keys below 2048 bits can be broken" in too_short
    assert assumptions(chosen.settings, replace(facts, key_bits=2048)) == (told,)
    assert assumptions(settings, facts) == ()
    on_shares = chosen.with_settings(gradients="secret-shared")
    assert assumptions(on_shares.settings, facts) == (), "no ciphertexts, nothing assumed of them"


def test_the_choices_are_the_ciphers_that_there_are():
    assert sorted(CIPHER_CHOICES) == sorted(cipher.name for cipher in CIPHERS)
