"""Sums of vectors that nobody sees alone: additive masks between pairs of parties (Bonawitz et al. 2017).

Each pair agrees on a secret over public keys (X25519) and expands it, for every round anew, to a mask that one adds and
the other subtracts, modulo 2^64. A masked vector is uniform to everybody who lacks the pairs' secrets; the
masks cancel in the sum over all parties, so that all of them must send (section 4).

Double masking lifts that (section 6). In every round a party draws a key for masks with each partner and a seed for a
mask of its own, and deals shares of both to all parties. Of a party that sends nothing the others open the key, which
takes its masks off the others' vectors; of one that did send they open the seed. Never both: with both, a server that
calls a slow party lost could open its vector. Keys are fresh in every round, since an opened one would open the rounds
before.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import CryptoError, PlaintextRangeError, ProtocolError
from fedleak.crypto import fixed_point
from fedleak.crypto.agreed_keys import KEY_BYTES, MaskingKey
from fedleak.crypto.secret_sharing import Share, combine

Words = npt.NDArray[np.uint64]

SUM_BITS = 62  # a sum of encodings stays under 2^62, so that half of all words tell of a mask that did not cancel


def mask_of(name: str, pair_secrets: Mapping[str, bytes], round_number: int, count: int) -> Words:
    """The sum of a party's masks towards all others in a round; names decide who adds and who subtracts."""
    total = np.zeros(count, dtype=np.uint64)
    for other, secret in pair_secrets.items():
        words = pad(secret, round_number, count)
        total = total + words if name < other else total - words  # modulo 2^64, as machine words wrap
    return total


def pad(secret: bytes, round_number: int, count: int) -> Words:
    """Pseudorandom words of a round, from a secret."""
    stream = hashlib.shake_256(secret + round_number.to_bytes(8, "big")).digest(8 * count)
    return np.frombuffer(stream, dtype=np.dtype("<u8")).astype(np.uint64)


def masked(values: FloatArray, fraction_bits: int, mask: Words, n_parties: int) -> Words:
    """The encoded values under a mask. Words wrap, and a wrapped sum looks like any other: so each of ``n_parties``
    keeps to its share of the range before it sends, which no sum of theirs can leave."""
    encoded = fixed_point.encode(values, fraction_bits)
    limit = (2**SUM_BITS - 1) // n_parties
    if (np.abs(encoded) > limit).any():
        worst = float(np.max(np.abs(values)))
        raise PlaintextRangeError(
            f"values under a mask must be at most {np.ldexp(float(limit), -fraction_bits):g} in magnitude for "
            f"{n_parties} parties at {fraction_bits} fraction bits, or their sum could overflow; got {worst:g}. "
            "Use fewer fraction bits, scaled columns or a smaller learning rate"
        )
    return encoded.astype(np.uint64) + mask


def opened_sum(vectors: Mapping[str, Words], parties: Collection[str], fraction_bits: int) -> FloatArray:
    """The sum of all parties' values. Without one vector masks do not cancel, and short sums would not even look wrong:
    so whoever is missing is named, and nothing is added up."""
    missing = [name for name in parties if name not in vectors]
    if missing:
        raise ProtocolError(
            f"every party must send its masked vector, or the masks do not cancel; got none from {', '.join(missing)}. "
            "Run the round again without them, or use a protocol with recovery_threshold"
        )
    return decoded_total(np.sum([vectors[name] for name in parties], axis=0, dtype=np.uint64), fraction_bits)


def decoded_total(total: Words, fraction_bits: int) -> FloatArray:
    """The sum of encodings as numbers, once the masks are off."""
    signed = total.astype(np.int64)
    if ((signed >= 2**SUM_BITS) | (signed <= -(2**SUM_BITS))).any():
        raise PlaintextRangeError(
            f"a sum of updates must be under 2^{SUM_BITS - fraction_bits} in magnitude; got more: a mask did not "
            "cancel, or a party sent more than its share of the range. Run the round again with fresh keys"
        )
    return np.ldexp(signed.astype(np.float64), -fraction_bits)


SEED_BYTES = 32


@dataclass(frozen=True)
class Announcement:
    """What a party publishes at the start of a round: the key's public part, and a commitment to the seed."""

    public: bytes
    commitment: bytes


@dataclass(frozen=True)
class RoundSecrets:
    """A party's key and seed of one round. Who has both of a party takes its mask off."""

    key: MaskingKey
    seed: bytes

    @classmethod
    def fresh(cls) -> RoundSecrets:
        return cls(MaskingKey(), secrets.token_bytes(SEED_BYTES))

    @property
    def announcement(self) -> Announcement:
        return Announcement(self.key.public, commitment_to(self.seed))

    def mask(self, name: str, announced: Mapping[str, Announcement], round_number: int, count: int) -> Words:
        """Towards every partner that announced itself, and its own."""
        pairs = {other: self.key.shared_with(found.public) for other, found in announced.items() if other != name}
        return mask_of(name, pairs, round_number, count) + pad(self.seed, round_number, count)


@dataclass(frozen=True)
class Opened:
    """The shares that came in: of the seeds of those who sent, of the keys of those who did not."""

    seeds: Mapping[str, Sequence[Share]]
    keys: Mapping[str, Sequence[Share]]


def commitment_to(seed: bytes) -> bytes:
    return hashlib.sha256(b"commitment" + seed).digest()


def unmasked_total(
    vectors: Mapping[str, Words],
    announced: Mapping[str, Announcement],
    opened: Opened,
    *,
    threshold: int,
    round_number: int,
) -> Words:
    """The sum of the senders' encodings modulo 2^64. What is opened is checked against what was announced."""
    total: Words = np.asarray(np.sum(list(vectors.values()), axis=0, dtype=np.uint64), dtype=np.uint64)
    count = len(total)
    for name in vectors:
        total = total - pad(_seed_of(name, announced, opened, threshold), round_number, count)
    for lost in announced.keys() - vectors.keys():
        key = _key_of(lost, announced, opened, threshold)
        # What the others' masks towards the lost party sum to is the negative of what it would have sent.
        pairs = {name: key.shared_with(announced[name].public) for name in vectors}
        total = total + mask_of(lost, pairs, round_number, count)
    return total


def opened_secrets(name: str, announced: Announcement, opened: Opened, threshold: int) -> RoundSecrets:
    """Both of one party, which no honest server gets."""
    there = {name: announced}
    return RoundSecrets(_key_of(name, there, opened, threshold), _seed_of(name, there, opened, threshold))


def _seed_of(name: str, announced: Mapping[str, Announcement], opened: Opened, threshold: int) -> bytes:
    seed = _as_bytes(combine(opened.seeds.get(name, ()), threshold), SEED_BYTES)
    if seed is None or commitment_to(seed) != announced[name].commitment:
        raise CryptoError(f"the opened seed of {name} must be the one that it committed to; got another")
    return seed


def _key_of(name: str, announced: Mapping[str, Announcement], opened: Opened, threshold: int) -> MaskingKey:
    secret = _as_bytes(combine(opened.keys.get(name, ()), threshold), KEY_BYTES)
    key = None if secret is None else MaskingKey(secret)
    if key is None or key.public != announced[name].public:
        raise CryptoError(f"the opened key of {name} must be the one that it announced; got another")
    return key


def _as_bytes(value: int, n_bytes: int) -> bytes | None:
    return value.to_bytes(n_bytes, "big") if value.bit_length() <= 8 * n_bytes else None
