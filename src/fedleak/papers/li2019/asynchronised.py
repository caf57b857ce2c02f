"""The asynchronised case, which the paper holds to be safe: at which learning rates Σα_i is exact after all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.attacks.binary.step_products import Product, first_estimate, sum_of_grams
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Guess, Reference, Status
from fedleak.core.whole.randomness import public_stream
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2019.chain import attempt, coin_rows, inner_products_exact, main_score, run, two_parties
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.protocols.averaging.vocabulary import ASYNCHRONISED
from fedleak.trial.progress import Progress

COLUMNS, BATCHES, BATCH_ROWS = 20, 4, 11
RATES = (0.005, 0.01, 0.02, 0.03, 0.04)
QUICK_RATES = (0.005, 0.02)
# columns, rows, batches: where the largest rate that still breaks is looked for
SHAPES = ((10, 20, 2), (10, 20, 4), (20, 44, 2), (20, 44, 4), (20, 44, 11), (24, 20, 4), (36, 30, 2), (48, 44, 4))
RATE_LADDER = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16)
LADDER_DRAWS = 10
BREAKS_FROM = 0.9  # a rate counts as broken where this share of the draws is exact


class LocalStepsExperiment(Experiment):
    name = "li2019/async"
    aliases = ("li2019/local-steps",)
    summary = "learning rate against exactness of the inner products of all rows, for several local steps a round"
    reference = Reference("li2019", "section 3.3")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(3 if quick else 50))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        rates = QUICK_RATES if quick else RATES
        shapes = SHAPES[:1] if quick else SHAPES
        progress.begin(self.name, len(rates) + len(shapes) + 2)
        for rate in rates:
            yield self._share_exact(rate, quick=quick)
            progress.advance()
        yield self._records(quick=quick)
        progress.advance()
        yield self._decaying_rate(quick=quick)
        progress.advance()
        for d, m, n in shapes:
            yield _largest_rate(d, m, n)
            progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        swept = [row for row in rows if row.setting.get("what") == "rate"]
        x = [float(row.setting["learning_rate"] or 0) for row in swept]
        curves = [
            Curve("fit of all batches", x, [float(row.measured["exact_share"] or 0) for row in swept]),
            Curve(
                "logarithm, second order",
                x,
                [float((row.baseline or {}).get("exact_share") or 0) for row in swept],
                dashed=True,
            ),
        ]
        return (Panel("Σα of 44 rows, d = 20", "learning rate", "share of draws exact", curves, log_x=True),)

    def _share_exact(self, rate: float, *, quick: bool) -> Row:
        """Four batches of eleven rows, from the transcript of a federation."""
        exact, labels, claimed, simple = [], [], [], []
        for seed in self.seeds(quick=quick):
            settings = local_steps(rate, BATCH_ROWS, 3 * (COLUMNS + 1))
            victim = coin_rows(BATCHES * BATCH_ROWS, COLUMNS, seed, "async-victim")
            played = run(two_parties(coin_rows(60, COLUMNS, seed, "async-curious"), victim, settings), seed)
            tried = attempt(played, "column-products")
            columns_right, labels_right = inner_products_exact(played, tried)
            exact.append(columns_right)
            labels.append(labels_right)
            claimed.append(claims_integers(tried.guess))
            product = _product(victim.features, BATCHES, rate)
            simple.append(_second_order_is_exact(product, victim.features))
        wrong = [claim and not right for claim, right in zip(claimed, exact, strict=True)]
        return Row(
            setting={"what": "rate", "columns": COLUMNS, "rows": BATCHES * BATCH_ROWS, "batches": BATCHES,
                     "learning_rate": rate, "draws": len(exact)},
            measured={
                "exact_share": float(np.mean(exact)),
                "label_sums_exact_share": float(np.mean(labels)),
                "claimed_but_wrong_share": float(np.mean(wrong)),
            },
            baseline={"exact_share": float(np.mean(simple))},
            note="baseline: symmetrised logarithm with the second-order correction (Σα)²λ/8n",
        )  # fmt: skip

    def _records(self, *, quick: bool) -> Row:
        """X itself, where columns outnumber the rows of all batches."""
        rate, d, m, batch = 0.01, 30, 20, 5
        cells, recovered, baselines = [], [], []
        for seed in self.seeds(quick=quick)[: 3 if quick else 10]:
            settings = local_steps(rate, batch, 3 * (d + 1))
            parties = coin_rows(60, d, seed, "async-curious"), coin_rows(m, d, seed, "async-victim")
            tried = attempt(run(two_parties(*parties, settings), seed), "binary-records")
            score = main_score(tried)
            recovered.append(tried.guess.status is Status.RECOVERED)
            cells.append(score.value if score else 0.0)
            baselines.append(score.baseline if score else 0.0)
        return Row(
            setting={"what": "records", "columns": d, "rows": m, "batches": m // batch, "learning_rate": rate,
                     "draws": len(cells)},
            measured={"certified_share": float(np.mean(recovered)), "cells_right": float(np.mean(cells))},
            baseline={"cells_right": float(np.mean(baselines))},
            note="records and labels, up to row order",
        )  # fmt: skip

    def _decaying_rate(self, *, quick: bool) -> Row:
        """A decaying rate: extrapolation to a rate of zero, at rates where a single one is not enough."""
        rate, d, m, batch = 0.06, 20, 44, 11
        exact = []
        for seed in self.seeds(quick=quick)[: 3 if quick else 10]:
            settings = local_steps(rate, batch, 6 * (d + 1) * (m // batch), decay=0.02)
            parties = coin_rows(60, d, seed, "async-curious"), coin_rows(m, d, seed, "async-victim")
            played = run(two_parties(*parties, settings), seed)
            columns_right, _ = inner_products_exact(played, attempt(played, "column-products"))
            exact.append(columns_right)
        return Row(
            setting={"what": "decaying rate", "columns": d, "rows": m, "batches": m // batch, "learning_rate": rate,
                     "draws": len(exact)},
            measured={"exact_share": float(np.mean(exact))},
            note="rate / (1 + 0.02 t): the polynomial in the rate is fitted",
        )  # fmt: skip


def local_steps(rate: float, batch: int, rounds: int, decay: float = 0.0) -> HorizontalLogisticSettings:
    """Of all parties; the curious one deals its batches anew."""
    return HorizontalLogisticSettings(
        update=ASYNCHRONISED,
        rounds=rounds,
        batch_size=batch,
        learning_rate=rate,
        rate_decay=decay,
        shuffled=("curious",),
        fraction_bits=44,
    )


def _largest_rate(d: int, m: int, n: int) -> Row:
    """The last rung of the ladder with enough exact draws, by bisection; kernel only, from the exact product."""
    shares = {-1: 1.0}
    low, high = -1, len(RATE_LADDER)
    while high - low > 1:
        middle = (low + high) // 2
        shares[middle] = _exact_share(d, m, n, RATE_LADDER[middle])
        low, high = (middle, high) if shares[middle] >= BREAKS_FROM else (low, middle)
    return Row(
        setting={"what": "largest rate", "columns": d, "rows": m, "batches": n, "draws": LADDER_DRAWS},
        measured={"largest_rate_that_breaks": RATE_LADDER[low] if low >= 0 else None, "exact_share": shares[low]},
        note=f"ladder {', '.join(f'{rate:g}' for rate in RATE_LADDER)}",
    )


def _exact_share(d: int, m: int, n: int, rate: float) -> float:
    right = []
    for seed in range(LADDER_DRAWS):
        x = coin_rows(m, d, seed, "async-ladder").features
        found = sum_of_grams(_product(x, n, rate), public_stream(seed, "attack", "ladder"))
        right.append(found is not None and np.array_equal(np.rint(found.total), x.T @ x))
    return float(np.mean(right))


def _product(x: FloatArray, n_batches: int, rate: float) -> Product:
    """∏ (I − (λ/4) α_i) over consecutive batches, later ones on the left (theorem 1)."""
    matrix = np.eye(x.shape[1])
    for batch in np.array_split(x, n_batches):
        matrix = (np.eye(x.shape[1]) - rate / 4 * batch.T @ batch) @ matrix
    return Product(matrix, rate / 4, n_batches, len(x))


def _second_order_is_exact(product: Product, x: FloatArray) -> bool:
    """−log P / s ≈ Σα + (s/2) Σα²/n, solved for Σα by iteration: what a simple attack does."""
    first = first_estimate(product)
    if first is None:
        return False
    n, s = product.n_batches, product.step
    values, vectors = np.linalg.eigh(first)
    logarithm = (vectors * (-n / s * np.log1p(-s / n * values))) @ vectors.T
    total = logarithm
    for _ in range(20):
        total = logarithm - s / 2 * total @ total / n
        if not np.abs(total).max() < 1e6:
            return False
    return np.array_equal(np.rint(total), x.T @ x)


def claims_integers(guess: Guess) -> bool:
    """Whether it is called safe to round."""
    values = guess.values[:, :-1]
    whole = bool(np.isfinite(values).all() and np.array_equal(values, np.rint(values)))
    return whole and guess.status in (Status.RECOVERED, Status.PARTIAL)
