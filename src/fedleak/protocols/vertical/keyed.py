"""A member with a key pair of its own, and protocol 1 of Hu et al. 2022 between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedleak.core import steps
from fedleak.core.arrays import IntArray
from fedleak.core.payload import IntegerArray
from fedleak.crypto import CIPHERS
from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.masked_product import ProductInputs, UnmaskInputs, masked_product, open_product, unmask
from fedleak.protocols.actor import Actor
from fedleak.protocols.vertical.member import Member
from fedleak.protocols.vertical.settings import VerticalLinearSettings


@dataclass(frozen=True, eq=False)
class KeyedMember:
    member: Member
    key: PrivateKey

    @property
    def actor(self) -> Actor:
        return self.member.actor


def join(member: Member, settings: VerticalLinearSettings) -> KeyedMember:
    """Draw a key pair and publish the public half."""
    key = CIPHERS.get(settings.cipher)().generate(settings.key_bits)
    member.actor.record(steps.PUBLIC_KEY, "private-key", key.to_payload())
    member.actor.publish(steps.PUBLIC_KEY, key.public.to_payload())
    return KeyedMember(member, key)


def exchange(
    receiver: KeyedMember,
    sender: KeyedMember,
    values: Sequence[int],
    rows: IntArray,
    *,
    fraction_bits: int,
    blind_bits: int,
) -> list[int]:
    """Protocol 1 for one direction: the receiver learns sum_i value_i row_i of its own ``rows``."""
    encrypted = sender.key.public.encrypt(values, fraction_bits)
    received = sender.actor.send(steps.ENCRYPTED_SCORE, receiver.actor, encrypted)
    inputs = ProductInputs(
        sender.actor.name, sender.key.public, received, rows, fraction_bits, receiver.actor.rng, blind_bits
    )
    product = receiver.actor.compute(steps.MULTIPLY, inputs, masked_product)
    mask = IntegerArray.from_ints(product.mask, sender.key.public.n_bytes)
    receiver.actor.record(steps.MULTIPLY, f"mask-for-{sender.actor.name}", mask)
    masked = receiver.actor.send(steps.MASKED_PRODUCT, sender.actor, product.ciphertexts)
    opened = sender.actor.send(steps.OPENED_PRODUCT, receiver.actor, open_product(sender.key, masked))
    unmasking = UnmaskInputs(sender.actor.name, sender.key.public, opened, product.mask)
    result: list[int] = receiver.actor.compute(steps.UNMASK, unmasking, unmask)
    return result
