"""Keys that are made once: small ones, because these tests are about arithmetic and not about security."""

from __future__ import annotations

import pytest

from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.paillier_cipher import Paillier, PaillierPrivateKey
from fedleak.crypto.sealed import Sealed, SealedPrivateKey

SMALL_KEY_BITS = 512


@pytest.fixture(scope="session")
def paillier() -> PaillierPrivateKey:
    return Paillier(allow_small_keys=True).generate(SMALL_KEY_BITS)


@pytest.fixture(scope="session")
def other_paillier() -> PaillierPrivateKey:
    return Paillier(allow_small_keys=True).generate(SMALL_KEY_BITS)


@pytest.fixture(scope="session")
def full_size_paillier() -> PaillierPrivateKey:
    return Paillier().generate()


@pytest.fixture(scope="session")
def sealed() -> SealedPrivateKey:
    return Sealed(allow_small_keys=True).generate(SMALL_KEY_BITS)


@pytest.fixture(scope="session", params=["paillier", "sealed"])
def private_key(request: pytest.FixtureRequest) -> PrivateKey:
    key: PrivateKey = request.getfixturevalue(request.param)
    return key
