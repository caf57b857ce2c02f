"""What ``fedleak inspect`` says of a payload."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.cli.inspect import payload_words
from fedleak.core.payload import CipherArray, Texts


def test_ciphertexts_say_what_was_sent_beside_them() -> None:
    plain = CipherArray("key", "paillier", np.zeros((2, 4), dtype=np.uint8), (2,), 16)
    assert payload_words(plain) == "paillier 2, 4 bytes each, 16 fraction bits"
    both = replace(plain, exponents=np.arange(2), signs=np.ones(2, dtype=np.int8))
    assert payload_words(both) == "paillier 2, 4 bytes each, 16 fraction bits, exponents and signs in plaintext"
    assert payload_words(replace(both, signs=None)).endswith("bits, exponents in plaintext")


def test_texts_are_counted_and_not_shown() -> None:
    assert payload_words(Texts(("Ann", "Bob"))) == "2 texts"
