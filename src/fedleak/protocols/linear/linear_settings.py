"""Settings of vertically federated linear models, and what follows from them in public.

The rule of the residual, the facts that everybody knows, and what a run leaves a coalition to work with.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.errors import InputError
from fedleak.core.facts import INITIALISATIONS, Facts, PartyFacts
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.federation import Settings, setting
from fedleak.crypto.cipher import CIPHER_CHOICES, CIPHER_MEANING, check_key_bits
from fedleak.protocols.linear.vocabulary import RESIDUALS, LinearFacts, LinearResidual


@dataclass(frozen=True)
class VerticalLinearSettings(Settings):
    batch_size: int = setting(16, "rows of a mini-batch", unit="rows", tells_less="more")
    epochs: int = setting(10, "passes over the training rows", unit="epochs", tells_less="fewer")
    learning_rate: float = setting(0.1, "step size of gradient descent", tells_less="fewer")
    initialisation: str = setting(
        "zero", "how the first weights are drawn", choices=INITIALISATIONS, tells_less="other"
    )
    shuffle: bool = setting(
        True, "draw new batches in every epoch; otherwise the same batches recur", tells_less="other"
    )
    cipher: str = setting("paillier", CIPHER_MEANING, choices=CIPHER_CHOICES)
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


@dataclass(frozen=True)
class ResidualRule:
    """A residual that is linear in the scores, which is what homomorphic encryption allows.

    The loss is slope / 2 * (score - target)^2 + loss_shift.
    """

    approximation: str
    residual: LinearResidual
    loss_shift: float


# The Taylor loss ln 2 - y wx/2 + (wx)^2/8 is (wx - 2y)^2/8 + ln 2 - 1/2.
LOGISTIC = ResidualRule("taylor", RESIDUALS["taylor"], loss_shift=float(np.log(2)) - 0.5)
LINEAR = ResidualRule("exact", RESIDUALS["exact"], loss_shift=0.0)


OF_A_MEMBER = frozenset(
    {
        Capability.OWN_FEATURES,
        Capability.OWN_WEIGHTS,
        Capability.OWN_GRADIENT,
        Capability.BATCH_IDS,
        Capability.CIPHERTEXTS,
        Capability.TWO_CLASSES,
    }
)


def linear_facts(
    protocol: str,
    settings: Settings,
    parties: tuple[PartyFacts, ...],
    n_rows: int | None,
    *,
    approximation: str,
    own: LinearFacts,
) -> Facts:
    if not isinstance(settings, VerticalLinearSettings):
        raise InputError(f"settings must be those of a vertical linear model; got {type(settings).__name__}")
    return Facts(
        protocol=protocol,
        parties=parties,
        n_rows=n_rows,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        initialisation=settings.initialisation,
        approximation=approximation,
        cipher=settings.cipher,
        key_bits=settings.key_bits,
        fraction_bits=settings.fraction_bits,
        own=own,
    )


def member_capabilities(parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]) -> frozenset[Capability]:
    """What the data-holding members of a coalition have."""
    roles = {party.role for party in parties if party.name in coalition}
    found: frozenset[Capability] = frozenset()
    if roles & DATA_ROLES:
        found |= OF_A_MEMBER
    if Role.ACTIVE in roles:
        found |= {Capability.LABELS}
    return found
