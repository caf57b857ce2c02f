"""Settings of horizontally federated logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.errors import InputError
from fedleak.core.settings import Settings, setting

SYNCHRONISED, ASYNCHRONISED = "synchronised", "asynchronised"
UPDATES = (SYNCHRONISED, ASYNCHRONISED)
INITIALISATIONS = ("zero", "normal")


@dataclass(frozen=True)
class HorizontalLogisticSettings(Settings):
    update: str = setting(
        SYNCHRONISED,
        "what a party sends a round: the gradient of one of its batches, or the change of the model after a local "
        "step on each of them",
        choices=UPDATES,
    )
    rounds: int = setting(60, "rounds of training", unit="rounds")
    batch_size: int = setting(0, "rows of a party's batch; 0 puts all of its rows into one", unit="rows")
    learning_rate: float = setting(0.01, "step size; the gradient is a sum over rows, not a mean")
    rate_decay: float = setting(0.0, "the rate of round t is learning_rate / (1 + rate_decay t)")
    shuffled: tuple[str, ...] = setting((), "parties that deal their rows into batches anew in every round")
    initialisation: str = setting("normal", "how the first weights are drawn", choices=INITIALISATIONS)
    fraction_bits: int = setting(40, "fractional bits of the fixed-point encoding", unit="bits")

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InputError(f"rounds must be 1 or more; got {self.rounds}")
        if self.batch_size < 0:
            raise InputError(f"batch_size must be 1 or more, or 0 for all rows; got {self.batch_size}")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be above 0; got {self.learning_rate}")
        if not self.rate_decay >= 0:
            raise InputError(f"rate_decay must not be negative; got {self.rate_decay}")
        if not 8 <= self.fraction_bits <= 52:
            raise InputError(f"fraction_bits must be from 8 to 52; got {self.fraction_bits}")
        for name, value, choices in (
            ("update", self.update, UPDATES),
            ("initialisation", self.initialisation, INITIALISATIONS),
        ):
            if value not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}; got {value!r}")

    def rate(self, round_number: int) -> float:
        return self.learning_rate / (1 + self.rate_decay * round_number)
