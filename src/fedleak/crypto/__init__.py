"""Real and ideal ciphers over one fixed-point arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedleak.core.registry import Registry

if TYPE_CHECKING:
    from fedleak.crypto.cipher import Cipher

CIPHERS: Registry[Cipher] = Registry(
    "cipher", ["fedleak.crypto.paillier_cipher:Paillier", "fedleak.crypto.sealed:Sealed"]
)
