"""How every horizontal training begins: who takes part, and the first model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.errors import InputError
from fedleak.core.federation import Federation, Party
from fedleak.core.payload import Array
from fedleak.core.steps import Role
from fedleak.protocols.actor import Actor
from fedleak.protocols.horizontal.masking import Masker


def row_parties(
    federation: Federation, shuffled: Sequence[str], lost: Sequence[str] = ()
) -> tuple[tuple[Party, ...], Party]:
    """The parties with rows and the server; or an error that says what is wrong."""
    parties, servers = federation.with_role(Role.ACTIVE), federation.with_role(Role.SERVER)
    if len(parties) < 2 or len(servers) != 1:
        raise InputError(
            f"{federation.protocol} must have two or more active parties and one server; "
            f"got {len(parties)} and {len(servers)}"
        )
    for party in parties:
        if party.columns != parties[0].columns:
            raise InputError(f"columns of {party.name} must be those of {parties[0].name}, in the same order")
        if not len(party.train.ids) or party.train.labels is None:
            raise InputError(f"{party.name} must hold at least one row with its label")
    names = {party.name for party in parties}
    for setting, named in (("shuffled", shuffled), ("dropouts", lost)):
        for name in named:
            if name not in names:
                raise InputError(f"{setting} must name active parties ({', '.join(sorted(names))}); got {name!r}")
    return parties, servers[0]


def agree_on_masks(maskers: Sequence[Masker]) -> None:
    """Every pair of parties derives its secret from the published keys."""
    for one, other in permutations(maskers, 2):
        one.agree_with(other)


def first_weights(server: Actor, initialisation: str, n_columns: int) -> FloatArray:
    drawn = server.rng.standard_normal(n_columns)  # drawn for every scheme, so that schemes share later randomness
    first = server.compute(
        steps.FIRST_MODEL, n_columns, lambda width: drawn if initialisation == "normal" else np.zeros(width)
    )
    server.publish(steps.FIRST_MODEL, Array(first))
    return first
