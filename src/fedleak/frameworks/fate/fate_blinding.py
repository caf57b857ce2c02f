"""FATE, changed in one place: the random factor that its modules ask for is applied to tensors in partitions as well.

``encrypt_tensor(..., obfuscate=True)`` of 2.2.0 loses the argument on its way to the partitions. What it sends with the
argument passed on is what a version that blinds would send, and no version that we know of sends: a capture of it says
so in its name. Calls of the modules that do not ask for the factor go on without it.
"""

from __future__ import annotations

from typing import Any

CHANGED = "fate-blinded"


class Blinding:
    """In an encryptor's place at each partition. It is sent to other processes, where FATE is as it was."""

    def __init__(self, encryptor: Any) -> None:
        self._encryptor = encryptor

    def encrypt_encoded(self, part: Any) -> Any:
        return self._encryptor.encrypt_encoded(part, obfuscate=True)


def pass_factor_on() -> None:
    """In this process, which holds one party."""
    from fate.arch.tensor.phe._keypair import PHETensorEncryptor

    PHETensorEncryptor.encrypt_encoded = passing_on(PHETensorEncryptor.encrypt_encoded)


def passing_on(encrypt: Any) -> Any:
    """Such a method, with what it asks for asked of each partition."""

    def encrypt_encoded(encryptor: Any, tensor: Any, obfuscate: bool = False) -> Any:
        if obfuscate and hasattr(tensor, "shardings"):
            return tensor.encrypt_encoded(Blinding(encryptor))
        return encrypt(encryptor, tensor, obfuscate)

    return encrypt_encoded
