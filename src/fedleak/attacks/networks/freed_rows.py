"""Rows that fit one update best, all their cells free, and how far rounding lets them be off.

The space of the rows comes from the first layer's part of the update, and has its rounding in it. But errors depend on
what rows give the layer, so that later layers tell where rows lie off that space too: of float32 rows come out several
times nearer so. Gauss-Newton steps on the whole update, each solved by least squares, in coordinates in which the first
layer alone would leave all directions alike. At the end residuals are of the size of rounding, which is known, or the
rows are not these. How far they may be off is what rounding drawn again moves them by; where the order of the steps is
open, what another order would move them by is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.local_training import Layers
from fedleak.attacks.networks.update_equations import Place, UpdateEquations
from fedleak.core.arrays import FloatArray, Value
from fedleak.models.joint_training import load_torch
from fedleak.models.layered_torch import Tensor

ROUNDS = 4
DENSE = 20_000_000  # numbers of a derivative that is written out; larger ones are multiplied by
PRODUCTS, SETTLED = 200, 1e-6  # of least squares by products: how many, and the slope that ends them
DRAWS = 2  # each moves all cells of a row
GAINED = 0.01  # of the misfit: a step that lowers it by less is the last


@dataclass(frozen=True, eq=False)
class FreedRows(Value):
    """``misfit``: squared residual for each equation to spare, in roundings, of the layer where it is largest.
    ``deviation``: of a number in each row."""

    rows: FloatArray
    misfit: float
    deviation: FloatArray


def freed_rows(equations: UpdateEquations, targets: FloatArray, place: Place, rng: np.random.Generator) -> FreedRows:
    free = _Free(equations, targets, place.visits)
    rows = (place.mixes @ equations.factors.basis.T)[:, :-1]
    misfit = free.misfit(rows)
    for _ in range(ROUNDS):
        tried = rows + free.solved(rows, -free.at(rows, free.still).numpy())
        after = free.misfit(tried)
        if not after < misfit:
            break
        settled, rows, misfit = after > (1 - GAINED) * misfit, tried, after
        if settled:
            break
    return FreedRows(rows, misfit, free.deviation(rows, rng))


class _Free:
    def __init__(self, equations: UpdateEquations, targets: FloatArray, visits: FloatArray) -> None:
        self._equations, self._targets, self._visits = equations, tensor(targets), tensor(visits)
        steps, rows = (np.zeros((one, 0)) for one in visits.shape) if equations.repeated else equations.ways()
        self._steps, self._rows = tensor(steps), tensor(rows)
        self.still = tensor(np.zeros(steps.shape[1] * rows.shape[1]))

    def at(self, rows: FloatArray | Tensor, turned: Tensor) -> Tensor:
        """All residuals, in roundings; ``turned``: how visits move."""
        return load_torch("networks").cat([part.reshape(-1) for part in self._parts(rows, turned)])

    def _parts(self, rows: FloatArray | Tensor, turned: Tensor) -> list[Tensor]:
        torch, training = load_torch("networks"), self._equations.training
        whole = torch.column_stack([tensor(rows), torch.ones(len(rows), dtype=torch.float64)])
        visits = self._visits + self._steps @ turned.reshape(self._steps.shape[1], self._rows.shape[1]) @ self._rows.T
        errors, sums = self._run(whole, visits)
        made = [errors.T @ whole / training.batch_size, *map(_joined, sums)]
        noise, *later = map(tensor, self._equations.noise)
        weighed = zip(made, self._equations.blocks, (noise[:, None], *later), strict=True)
        return [(one - tensor(block)) / by for one, block, by in weighed]

    def _run(self, whole: Tensor, visits: Tensor) -> tuple[Tensor, Layers]:
        training = self._equations.training
        entered = whole @ tensor(training.entering).T
        later: Layers = [(tensor(one), None if bias is None else tensor(bias)) for one, bias in training.later]
        return training.sums(entered, whole @ whole.T, self._targets, visits, later)

    def misfit(self, rows: FloatArray) -> float:
        """Cells that are zero in all rows, and units that are off for all, say nothing and are not counted."""
        spare, squares = [], []
        for place, (part, block) in enumerate(zip(self._parts(rows, self.still), self._equations.blocks, strict=True)):
            told = np.count_nonzero(block) - (rows.shape[0] * np.any(block != 0, axis=0).sum() if place == 0 else 0)
            spare.append(max(1, int(told)))
            squares.append(float((part**2).sum()))
        return float(max(sum(squares) / sum(spare), *(one / n for one, n in zip(squares, spare, strict=True))))

    def solved(self, rows: FloatArray, right: FloatArray) -> FloatArray:
        """Least squares for how rows move, visits as they are."""
        if self._n_numbers(rows) <= DENSE:
            columns = self._columns(rows)[:, : rows.size]
            return np.asarray((_inverse(columns.T @ columns) @ (columns.T @ right)).reshape(rows.shape))
        return self._by_products(rows, right, np.zeros(0))

    def deviation(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Of each row; visits may be off by 1."""
        if self._n_numbers(rows) <= DENSE:
            columns = self._columns(rows)
            normal = columns.T @ columns
            normal[rows.size :, rows.size :] += np.eye(len(self.still))
            variances = np.diag(_inverse(normal))[: rows.size]
            return np.asarray(np.sqrt(np.maximum(variances, 0).reshape(rows.shape).mean(axis=1)))
        n_numbers, lengths = sum(block.size for block in self._equations.blocks), self._lengths(rows)
        drawn = rng.standard_normal((DRAWS, n_numbers + len(lengths)))
        moved = [self._by_products(rows, right, lengths) for right in drawn]
        return np.asarray(np.sqrt((np.stack(moved) ** 2).mean(axis=(0, 2))))

    def _lengths(self, rows: FloatArray) -> FloatArray:
        """Of what each way of the visits moves the residuals by."""
        if not len(self.still):
            return np.zeros(0)
        columns = columns_of(lambda turned: self.at(rows, turned), self.still)
        return np.asarray(1 + np.linalg.norm(columns.numpy(), axis=0))

    def _by_products(self, rows: FloatArray, right: FloatArray, lengths: FloatArray) -> FloatArray:
        """With ``lengths`` visits move too, in these units, and should not."""
        from scipy.sparse.linalg import LinearOperator, lsmr

        torch, shape, size, n_turned = load_torch("networks"), rows.shape, rows.size, len(lengths)
        factor, units = tensor(self._coordinates(rows)), tensor(1 / lengths)

        def left_over(moved: Tensor) -> Tensor:
            turned = units * moved[size:] if n_turned else self.still
            at = self.at(tensor(rows) + factor @ moved[:size].reshape(shape), turned)
            return torch.cat([at, turned]) if n_turned else at

        start = tensor(np.zeros(size + n_turned))
        _, pull = torch.func.vjp(left_over, start)
        product = LinearOperator(
            (len(right), len(start)),
            matvec=lambda way: torch.func.jvp(left_over, (start,), (tensor(way),))[1].numpy(),
            rmatvec=lambda left: pull(tensor(left))[0].numpy(),
            dtype=np.float64,
        )
        found = lsmr(product, right, atol=SETTLED, btol=SETTLED, maxiter=PRODUCTS)[0]
        return np.asarray((factor @ tensor(found[:size]).reshape(shape)).numpy())

    def _coordinates(self, rows: FloatArray) -> FloatArray:
        """(K, K): in which the first layer's own equations leave every direction alike."""
        errors, _ = self._run(tensor(np.column_stack([rows, np.ones(len(rows))])), self._visits)
        scaled = errors.numpy() / self._equations.noise[0] / self._equations.training.batch_size
        return np.asarray(np.linalg.cholesky(np.linalg.pinv(scaled @ scaled.T, hermitian=True)))

    def _n_numbers(self, rows: FloatArray) -> int:
        return sum(block.size for block in self._equations.blocks) * (rows.size + len(self.still))

    def _columns(self, rows: FloatArray) -> FloatArray:
        torch = load_torch("networks")
        size = rows.size
        at = torch.cat([tensor(rows).reshape(-1), self.still])
        return np.asarray(columns_of(lambda one: self.at(one[:size].reshape(rows.shape), one[size:]), at).numpy())


def tensor(values: FloatArray | Tensor) -> Tensor:
    torch = load_torch("networks")
    return values if isinstance(values, torch.Tensor) else torch.tensor(values, dtype=torch.float64)


def _joined(layer: tuple[Tensor, Tensor | None]) -> Tensor:
    """[dW | db]."""
    weight, bias = layer
    return weight if bias is None else load_torch("networks").column_stack([weight, bias])


def columns_of(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """(equations, unknowns): the derivative, some directions at a time."""
    torch = load_torch("networks")
    along = torch.func.vmap(lambda way: torch.func.jvp(function, (at,), (way,))[1], chunk_size=64)
    return along(torch.eye(len(at), dtype=at.dtype)).T


def _inverse(normal: FloatArray) -> FloatArray:
    """Of a matrix whose rows may be of many sizes."""
    sizes = 1 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
    return np.asarray(sizes[:, None] * np.linalg.pinv(sizes[:, None] * normal * sizes, hermitian=True) * sizes)
