"""Real and ideal ciphers over one fixed-point arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedleak.core.registry import Entry, Registry

if TYPE_CHECKING:
    from fedleak.crypto.cipher import Cipher

CIPHERS: Registry[Cipher] = Registry(
    "cipher",
    [
        Entry("paillier", "fedleak.crypto.paillier_cipher:Paillier"),
        Entry("sealed", "fedleak.crypto.sealed:Sealed"),
        Entry("paillier-subgroup", "fedleak.crypto.subgroup_paillier:SubgroupPaillier"),
    ],
)
