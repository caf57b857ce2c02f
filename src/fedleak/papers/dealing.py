"""A table dealt out by columns: each party has its own, the first one is the active party and has the labels too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Party, Slice

Positions = Sequence[int] | IntArray


def deal_columns(
    values: FloatArray,
    names: Sequence[str],
    labels: AnyArray,
    shares: Mapping[str, Positions],
    *,
    rows: IntArray | None = None,
    held_out: IntArray | None = None,
    arbiter: str = "",
) -> tuple[Party, ...]:
    """``shares``: positions of columns by party. Rows, all of them unless told, keep their positions as ids.

    An arbiter, where one is named, takes part without columns.
    """
    train = np.arange(len(values), dtype=np.int64) if rows is None else rows
    active = next(iter(shares))

    def party(name: str, role: Role, positions: Positions) -> Party:
        own = np.asarray(positions, dtype=np.int64)

        def part(of: IntArray) -> Slice:
            return Slice(of, values[np.ix_(of, own)], labels[of] if role is Role.ACTIVE else None)

        test = None if held_out is None else part(held_out)
        return Party(name, role, tuple(names[position] for position in own), part(train), test)

    dealt = [party(name, Role.ACTIVE if name == active else Role.PASSIVE, own) for name, own in shares.items()]
    return (*dealt, party(arbiter, Role.ARBITER, ())) if arbiter else tuple(dealt)
