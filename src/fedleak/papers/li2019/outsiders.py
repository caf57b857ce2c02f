"""The asynchronised case with several parties outside: the sum of their products is seen, and none of them alone.

How many local steps each takes is known, and their single batches cannot be fitted: at which rates is Σα of all of them
exact all the same? From transcripts, by the curious party's own attack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Secret, together
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2019.asynchronised import BREAKS_FROM, RATE_LADDER, claims_integers, local_steps
from fedleak.papers.li2019.chain import CURIOUS, VICTIM, coin_rows, inner_products_exact, parties_of, run
from fedleak.trial.progress import Progress

COLUMNS, ROWS, CURIOUS_ROWS = 10, 8, 40  # of each party outside, and of the curious one
OUTSIDERS = (1, 2, 3, 5)
BATCHES = (2, 4)


class Outsiders(Experiment):
    name = "li2019/async-parties"
    summary = "largest learning rate at which local steps of several parties give their inner products away"
    reference = Reference("li2019", "section 3.3")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(2 if quick else 10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        shapes = [
            (n, batches) for batches in BATCHES[: 1 if quick else None] for n in OUTSIDERS[: 2 if quick else None]
        ]
        progress.begin(self.name, len(shapes))
        for n_outside, n_batches in shapes:
            yield _largest_rate(n_outside, n_batches, self.seeds(quick=quick))
            progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        curves = []
        for batches in sorted({int(row.setting["batches"] or 0) for row in rows}):
            mine = [row for row in rows if row.setting["batches"] == batches]
            x = [float(row.setting["parties outside"] or 0) for row in mine]
            y = [float(row.measured["largest_rate_that_breaks"] or 0) for row in mine]
            curves.append(Curve(f"{batches} batches each", x, y))
        return (Panel(f"{ROWS} rows each, d = {COLUMNS}", "parties outside", "largest rate that breaks", curves),)


def _largest_rate(n_outside: int, n_batches: int, seeds: Sequence[int]) -> Row:
    """The last rung of the ladder with enough exact draws, by bisection."""
    share = partial(_shares, n_outside, n_batches, seeds)
    found = {-1: (1.0, 0.0)}
    low, high = -1, len(RATE_LADDER)
    while high - low > 1:
        middle = (low + high) // 2
        found[middle] = share(RATE_LADDER[middle])
        low, high = (middle, high) if found[middle][0] >= BREAKS_FROM else (low, middle)
    setting: dict[str, ScalarValue] = {"parties outside": n_outside, "batches": n_batches, "columns": COLUMNS}
    return Row(
        setting={**setting, "rows each": ROWS, "draws": len(seeds)},
        measured={
            "largest_rate_that_breaks": RATE_LADDER[low] if low >= 0 else None,
            "exact_share": found[low][0],
            "claimed_but_wrong_share": max(wrong for _, wrong in found.values()),
        },
        note=f"ladder {', '.join(f'{rate:g}' for rate in RATE_LADDER)}; wrong claims: of the worst rate tried",
    )


def _shares(n_outside: int, n_batches: int, seeds: Sequence[int], rate: float) -> tuple[float, float]:
    """Of the draws: Σα exact; called whole and wrong."""
    attack = ATTACKS.get("column-products")
    exact, wrong = [], []
    for seed in seeds:
        names = [VICTIM, *(f"{VICTIM}-{number}" for number in range(2, n_outside + 1))]
        tables = {CURIOUS: coin_rows(CURIOUS_ROWS, COLUMNS, seed, "outsiders-curious")}
        tables |= {name: coin_rows(ROWS, COLUMNS, seed, f"outsiders-{name}") for name in names}
        played = run(parties_of(tables, local_steps(rate, ROWS // n_batches, 3 * (COLUMNS + 1))), seed)
        tried = played.attempt(attack, (CURIOUS,), Secret(attack.produces, together(names)))
        right = bool(len(tried.guess.ids)) and inner_products_exact(played, tried)[0]
        exact.append(right)
        wrong.append(claims_integers(tried.guess) and not right)
    return float(np.mean(exact)), float(np.mean(wrong))
