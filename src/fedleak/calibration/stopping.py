"""Cells in which so few seeds are false leaks that more of them would change nothing.

A cell breaks its limit with 36 false leaks of 400 seeds or more. Where after the first 60, 100 or 200 there are as few
as here, it is left at that: a cell is never stopped for having many. So none breaks the limit that would not have done
so with all seeds, and of a cell that cries wolf in a tenth of the seeds or more, the chance to be caught falls by at
most 0.11 percentage points. Leaks and seeds of stopped cells add up without a bias: the expected number of leaks is the
true share times the expected number of seeds, whenever one stops by what was seen (Wald 1944).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from fedleak.calibration.blocks import Block, StageBlock
from fedleak.calibration.stages import stage_named
from fedleak.calibration.tally import Tally, added

LOOKS = {60: 0, 100: 2, 200: 6}  # after so many seeds: false leaks up to which a cell is done with


def waves(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """What is measured before each look, and at last what comes after all of them. Blocks are in order of seeds."""
    for _, wave in groupby(blocks, key=lambda block: sum(seeds <= block.first for seeds in LOOKS)):
        yield list(wave)


def still_needed(block: Block, tallies: Iterable[Tally]) -> Block | None:
    """The block without the attacks that are done with in its cell; None where none is left."""
    if block.leaks or not isinstance(block, StageBlock):
        return block
    done = {tally.attack for tally in _in_cell(block, tallies) if is_settled(tally.leaks, tally.seeds)}
    attacks = tuple(name for name in block.attacks if name not in done)
    return replace(block, attacks=attacks) if attacks else None


def is_settled(leaks: int, seeds: int) -> bool:
    return leaks <= LOOKS.get(seeds, -1)


def _in_cell(block: StageBlock, tallies: Iterable[Tally]) -> list[Tally]:
    cell = stage_named(block.stage).shown(block.table), block.n
    return added(tally for tally in tallies if (tally.table, tally.n) == cell)
