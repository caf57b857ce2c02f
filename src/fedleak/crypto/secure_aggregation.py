"""Sums of vectors that nobody sees alone: additive masks between pairs of parties (Bonawitz et al. 2017).

Each pair agrees on a secret by Diffie-Hellman over public keys and expands it, for every round anew, to a mask that one
adds and the other subtracts, modulo 2^64. A masked vector is uniform to everybody who lacks the pairs' secrets; the
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
from fedleak.crypto.secret_sharing import Share, combine

Words = npt.NDArray[np.uint64]

# The 2048-bit MODP group of RFC 3526 (group 14), p = 2^2048 - 2^1984 - 1 + 2^64 (floor(2^1918 pi) + 124476).
_GROUP_HEX = (
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F"
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B"
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510"
    "15728E5A8AACAA68FFFFFFFFFFFFFFFF"
)
PRIME = int(_GROUP_HEX, 16)
GENERATOR = 2
EXPONENT_BITS = 512
KEY_BYTES = 256
SUM_BITS = 62  # a sum of encodings stays under 2^62, so that half of all words tell of a mask that did not cancel


class MaskingKey:
    """A party's secret exponent and what it publishes."""

    def __init__(self, exponent: int | None = None) -> None:
        self.exponent = secrets.randbits(EXPONENT_BITS) | 1 if exponent is None else exponent
        self.public = _power(GENERATOR, self.exponent)

    def shared_with(self, other: int) -> bytes:
        """The pair's secret."""
        if not 1 < other < PRIME - 1:
            raise CryptoError("a public key must lie strictly between 1 and p - 1; got one that does not")
        return hashlib.sha256(_power(other, self.exponent).to_bytes(KEY_BYTES, "big")).digest()


def _power(base: int, exponent: int) -> int:
    """Modulo the group's prime; several times faster than Python's own."""
    from fedleak.crypto.bigint import Mpz, powmod  # not for a list of protocols, which computes nothing

    return int(powmod(Mpz(base), exponent, Mpz(PRIME)))


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

    public: int
    commitment: bytes


class RoundSecrets:
    """A party's key and seed of one round."""

    def __init__(self) -> None:
        self.key = MaskingKey()
        self.seed = secrets.token_bytes(SEED_BYTES)

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


def _seed_of(name: str, announced: Mapping[str, Announcement], opened: Opened, threshold: int) -> bytes:
    value = combine(opened.seeds.get(name, ()), threshold)
    if value.bit_length() > 8 * SEED_BYTES or commitment_to(value.to_bytes(SEED_BYTES, "big")) != (
        announced[name].commitment
    ):
        raise CryptoError(f"the opened seed of {name} must be the one that it committed to; got another")
    return value.to_bytes(SEED_BYTES, "big")


def _key_of(name: str, announced: Mapping[str, Announcement], opened: Opened, threshold: int) -> MaskingKey:
    key = MaskingKey(combine(opened.keys.get(name, ()), threshold))
    if key.public != announced[name].public:
        raise CryptoError(f"the opened key of {name} must be the one that it announced; got another")
    return key
