"""Settings that all vertically federated linear models share."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from fedleak.core.errors import InputError
from fedleak.core.settings import Settings, setting
from fedleak.crypto.cipher import check_key_bits

INITIALISATIONS = ("zero", "xavier", "kaiming", "normal")


@dataclass(frozen=True)
class VerticalLinearSettings(Settings):
    batch_size: int = setting(16, "rows of a mini-batch", unit="rows")
    epochs: int = setting(10, "passes over the training rows", unit="epochs")
    learning_rate: float = setting(0.1, "step size of gradient descent")
    initialisation: str = setting("zero", "how the first weights are drawn", choices=INITIALISATIONS)
    shuffle: bool = setting(True, "draw new batches in every epoch; otherwise the same batches recur")
    cipher: str = setting("paillier", "the real cipher, or its ideal counterpart", choices=("paillier", "sealed"))
    key_bits: int = setting(2048, "length of the Paillier modulus", unit="bits")
    fraction_bits: int = setting(40, "fractional bits of the fixed-point encoding", unit="bits")

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more; got {getattr(self, name)}")
        if not 0 < self.learning_rate < inf:
            raise InputError(f"learning_rate must be above 0 and finite; got {self.learning_rate}")
        if not 8 <= self.fraction_bits <= 52:
            raise InputError(f"fraction_bits must be from 8 to 52; got {self.fraction_bits}")
        check_key_bits(self.key_bits, allow_small_keys=False)
        if self.initialisation not in INITIALISATIONS:
            raise InputError(f"initialisation must be one of {', '.join(INITIALISATIONS)}; got {self.initialisation!r}")
