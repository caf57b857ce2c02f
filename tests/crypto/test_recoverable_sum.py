"""Double masks: the sum of those who sent, whoever is lost, and nothing from shares that do not belong."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fedleak.core.errors import CryptoError, DecryptionError
from fedleak.crypto import secret_sharing
from fedleak.crypto.secure_aggregation import (
    Announcement,
    Opened,
    RoundSecrets,
    decoded_total,
    mask_of,
    masked,
    pad,
    unmasked_total,
)

NAMES = ("clinic", "hospital", "lab", "praxis")
THRESHOLD, ROUND, COUNT = 3, 5, 6


class Case:
    """One round of four parties; ``values`` are what they want summed."""

    def __init__(self) -> None:
        self.secrets = {name: RoundSecrets.fresh() for name in NAMES}
        self.announced = {name: found.announcement for name, found in self.secrets.items()}
        self.values = {name: np.arange(COUNT) + 10.0 * i for i, name in enumerate(NAMES)}
        self.vectors = {
            name: masked(self.values[name], 30, found.mask(name, self.announced, ROUND, COUNT), len(NAMES))
            for name, found in self.secrets.items()
        }
        self.keys = {
            n: secret_sharing.split(int.from_bytes(s.key.secret, "big"), 4, THRESHOLD) for n, s in self.secrets.items()
        }
        self.seeds = {
            n: secret_sharing.split(int.from_bytes(s.seed, "big"), 4, THRESHOLD) for n, s in self.secrets.items()
        }

    def opened(self, senders, answering=None) -> Opened:
        places = [NAMES.index(name) for name in answering or senders]
        seeds = {name: [self.seeds[name][i] for i in places] for name in senders}
        keys = {name: [self.keys[name][i] for i in places] for name in NAMES if name not in senders}
        return Opened(seeds, keys)

    def total(self, senders, opened=None):
        vectors = {name: self.vectors[name] for name in senders}
        opened = opened or self.opened(senders)
        return unmasked_total(vectors, self.announced, opened, threshold=THRESHOLD, round_number=ROUND)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


@pytest.mark.parametrize("senders", [NAMES, *combinations(NAMES, 3)])
def test_the_sum_of_those_who_sent(case, senders):
    expected = np.sum([case.values[name] for name in senders], axis=0)
    np.testing.assert_allclose(decoded_total(case.total(senders), 30), expected, atol=1e-8)


def test_senders_that_fall_silent_later_do_no_harm_while_enough_answer(case):
    opened = case.opened(NAMES, answering=NAMES[:3])
    expected = np.sum(list(case.values.values()), axis=0)
    np.testing.assert_allclose(decoded_total(case.total(NAMES, opened), 30), expected, atol=1e-8)


def test_too_few_shares_open_nothing(case):
    with pytest.raises(CryptoError, match="3 different shares"):
        case.total(NAMES[:2])


def test_a_vector_stays_hidden_without_its_own_seed(case):
    """A server that calls a sender lost gets its key and takes the pairs' masks off: the own mask remains."""
    secrets = case.secrets["lab"]
    pairs = {name: secrets.key.shared_with(case.announced[name].public) for name in NAMES if name != "lab"}
    stripped = case.vectors["lab"] - mask_of("lab", pairs, ROUND, COUNT)
    plain = masked(case.values["lab"], 30, np.zeros(COUNT, dtype=np.uint64), len(NAMES))
    assert (stripped != plain).all()
    assert (stripped - pad(secrets.seed, ROUND, COUNT) == plain).all()


@pytest.mark.parametrize("kind", ["seeds", "keys"])
def test_what_is_opened_must_be_what_was_announced(case, kind):
    opened = case.opened(NAMES[:3])
    forged = secret_sharing.split(12345, 4, THRESHOLD)[:3]
    name = NAMES[0] if kind == "seeds" else NAMES[3]
    parts = {"seeds": dict(opened.seeds), "keys": dict(opened.keys)}
    parts[kind][name] = forged
    with pytest.raises(CryptoError, match=f"of {name} must be the one"):
        case.total(NAMES[:3], Opened(**parts))


def test_announcements_tell_nothing_of_the_seed():
    one, other = RoundSecrets.fresh(), RoundSecrets.fresh()
    assert isinstance(one.announcement, Announcement)
    assert one.seed not in (one.announcement.commitment, other.seed)
    assert one.announcement.public != other.announcement.public


def test_sealed_messages_open_only_as_they_were():
    sealed = secret_sharing.seal(b"k" * 32, b"round 3", b"a share")
    assert secret_sharing.unseal(b"k" * 32, b"round 3", sealed) == b"a share"
    assert b"a share" not in sealed
    assert secret_sharing.seal(b"k" * 32, b"round 4", b"a share")[:7] != sealed[:7]
    for secret, context, data in [
        (b"x" * 32, b"round 3", sealed),
        (b"k" * 32, b"round 4", sealed),
        (b"k" * 32, b"round 3", sealed[:-1] + bytes([sealed[-1] ^ 1])),
        (b"k" * 32, b"round 3", b""),
    ]:
        with pytest.raises(DecryptionError, match="unchanged"):
            secret_sharing.unseal(secret, context, data)
