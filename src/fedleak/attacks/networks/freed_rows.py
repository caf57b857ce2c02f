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
from typing import Any

import numpy as np

from fedleak.attacks.networks.local_training import Layers, Numbers
from fedleak.attacks.networks.moving_arrays import Moving, still, together
from fedleak.attacks.networks.update_equations import Place, UpdateEquations
from fedleak.core.arrays import FloatArray, Value
from fedleak.models.joint_training import load_torch

ROUNDS = 4
DENSE = 20_000_000  # numbers of a derivative that is written out; larger ones are multiplied by
PRODUCTS, SETTLED = 200, 1e-6  # of least squares by products: how many, and the slope that ends them
DRAWS = 2  # each moves all cells of a row
AT_ONCE = 64  # directions
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
        tried = rows + free.solved(rows, -free.at(rows))
        after = free.misfit(tried)
        if not after < misfit:
            break
        settled, rows, misfit = after > (1 - GAINED) * misfit, tried, after
        if settled:
            break
    return FreedRows(rows, misfit, free.deviation(rows, rng))


class _Free:
    """Residuals as a function of all cells, row after row, and of how visits turn."""

    def __init__(self, equations: UpdateEquations, targets: FloatArray, visits: FloatArray) -> None:
        self._equations, self._targets, self._visits = equations, targets, visits
        steps, rows = (np.zeros((one, 0)) for one in visits.shape) if equations.repeated else equations.ways()
        self._steps, self._rows = steps, rows
        self.n_turned = steps.shape[1] * rows.shape[1]

    def at(self, rows: FloatArray) -> FloatArray:
        """All residuals, in roundings."""
        return together(self._moving(rows, np.zeros((0, rows.size)))).value

    def _moving(self, rows: FloatArray, ways: FloatArray, turns: FloatArray | None = None) -> list[Moving]:
        """``ways``: (directions, cells) that rows move along, ``turns`` those of the visits at the same time."""
        n_rows, n_ways = len(rows), len(ways)
        beside = np.zeros((n_ways, n_rows, 1))
        moved = np.concatenate([ways.reshape(n_ways, *rows.shape), beside], axis=2)
        turned = np.zeros((n_ways, self.n_turned)) if turns is None else turns
        visited = self._steps @ turned.reshape(n_ways, self._steps.shape[1], self._rows.shape[1]) @ self._rows.T
        whole = Moving(np.column_stack([rows, np.ones(n_rows)]), moved)
        return self._left(whole, Moving(self._visits, visited), np.asarray)

    def _left(self, whole: Numbers, visits: Numbers, given: Callable[[FloatArray], Any]) -> list[Numbers]:
        """Layer by layer; ``given`` makes numbers of the kind of the others of constants."""
        (first, *blocks), (noise, *later) = self._equations.blocks, self._equations.noise
        errors, sums = self._run(whole, visits, given)
        size = self._equations.training.batch_size
        parts = [(errors.T @ whole * (1 / size) - given(first)) / given(noise[:, None])]
        for (weight, bias), block, by in zip(sums, blocks, later, strict=True):
            width = weight.shape[1]
            parts.append((weight - given(block[:, :width])) / given(by[:, :width]))
            parts += [] if bias is None else [(bias - given(block[:, width])) / given(by[:, width])]
        return parts

    def _run(self, whole: Numbers, visits: Numbers, given: Callable[[FloatArray], Any]) -> tuple[Numbers, Layers]:
        training = self._equations.training
        later: Layers = [(given(one), None if bias is None else given(bias)) for one, bias in training.later]
        entered = whole @ given(training.entering.T)
        return training.sums(entered, whole @ whole.T, given(self._targets), visits, later)

    def misfit(self, rows: FloatArray) -> float:
        """Cells that are zero in all rows, and units that are off for all, say nothing and are not counted."""
        squares = [float((part.value**2).sum()) for part in self._moving(rows, np.zeros((0, rows.size)))]
        spare = [np.count_nonzero(block) for block in self._equations.blocks]
        told = [int(spare[0]) - len(rows) * int(np.any(self._equations.blocks[0] != 0, axis=0).sum())]
        for layer, block in zip(self._equations.training.later, self._equations.blocks[1:], strict=True):
            told += [int(np.count_nonzero(block[:, : layer[0].shape[1]]))]
            told += [] if layer[1] is None else [int(np.count_nonzero(block[:, -1]))]
        each = [one / max(1, n) for one, n in zip(squares, told, strict=True)]
        return float(max(sum(squares) / max(1, sum(told)), *each))

    def solved(self, rows: FloatArray, right: FloatArray) -> FloatArray:
        """Least squares for how rows move, visits as they are."""
        if self._n_numbers(rows) <= DENSE:
            columns = self._columns(rows)[: rows.size]
            return np.asarray((_inverse(columns @ columns.T) @ (columns @ right)).reshape(rows.shape))
        return self._by_products(rows, right, np.zeros(0))

    def deviation(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Of each row; visits may be off by 1."""
        if self._n_numbers(rows) <= DENSE:
            columns = self._columns(rows)
            normal = columns @ columns.T
            normal[rows.size :, rows.size :] += np.eye(self.n_turned)
            variances = np.diag(_inverse(normal))[: rows.size]
            return np.asarray(np.sqrt(np.maximum(variances, 0).reshape(rows.shape).mean(axis=1)))
        turning = together(self._moving(rows, np.zeros((self.n_turned, rows.size)), np.eye(self.n_turned))).ways
        lengths = 1 + np.linalg.norm(turning, axis=1)  # of what each way of the visits moves the residuals by
        drawn = rng.standard_normal((DRAWS, turning.shape[1] + self.n_turned))
        moved = [self._by_products(rows, right, lengths) for right in drawn]
        return np.asarray(np.sqrt((np.stack(moved) ** 2).mean(axis=(0, 2))))

    def _by_products(self, rows: FloatArray, right: FloatArray, lengths: FloatArray) -> FloatArray:
        """With ``lengths`` visits move too, in these units, and should not."""
        from scipy.sparse.linalg import LinearOperator, lsmr

        size, n_turned, factor = rows.size, len(lengths), self._coordinates(rows)
        pull = self._pulled(rows)

        def forward(way: FloatArray) -> FloatArray:
            turns = way[size:] / lengths if n_turned else np.zeros(self.n_turned)
            along = (factor @ way[:size].reshape(rows.shape)).reshape(1, -1)
            return np.concatenate([together(self._moving(rows, along, turns[None])).ways[0], turns[:n_turned]])

        def back(left: FloatArray) -> FloatArray:
            by_rows, by_turns = pull(left[: len(left) - n_turned])
            turned = (by_turns + left[len(left) - n_turned :]) / lengths if n_turned else np.zeros(0)
            return np.concatenate([(factor.T @ by_rows).ravel(), turned])

        shape = (len(right), size + n_turned)
        product = LinearOperator(shape, matvec=forward, rmatvec=back, dtype=np.float64)
        found = lsmr(product, right, atol=SETTLED, btol=SETTLED, maxiter=PRODUCTS)[0]
        return np.asarray(factor @ found[:size].reshape(rows.shape))

    def _pulled(self, rows: FloatArray) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
        """The derivative backwards, by rows and by turns of the visits: by torch."""
        torch = load_torch("networks")

        def tensor(values: FloatArray) -> Any:
            return torch.tensor(values, dtype=torch.float64)

        free, turned = tensor(rows).requires_grad_(), tensor(np.zeros(self.n_turned)).requires_grad_()
        whole = torch.column_stack([free, torch.ones(len(rows), dtype=torch.float64)])
        turns = turned.reshape(self._steps.shape[1], self._rows.shape[1])
        visits = tensor(self._visits) + tensor(self._steps) @ turns @ tensor(self._rows.T)
        left = torch.cat([part.reshape(-1) for part in self._left(whole, visits, tensor)])

        def pull(along: FloatArray) -> tuple[FloatArray, FloatArray]:
            found = torch.autograd.grad(left, (free, turned), tensor(along), retain_graph=True)
            return found[0].numpy(), found[1].numpy()

        return pull

    def _coordinates(self, rows: FloatArray) -> FloatArray:
        """(K, K): in which the first layer's own equations leave every direction alike."""
        whole, visits = still(np.column_stack([rows, np.ones(len(rows))])), still(self._visits)
        errors = self._run(whole, visits, np.asarray)[0].value
        scaled = errors / self._equations.noise[0] / self._equations.training.batch_size
        return np.asarray(np.linalg.cholesky(np.linalg.pinv(scaled @ scaled.T, hermitian=True)))

    def _n_numbers(self, rows: FloatArray) -> int:
        return sum(block.size for block in self._equations.blocks) * int(rows.size + self.n_turned)

    def _columns(self, rows: FloatArray) -> FloatArray:
        """(unknowns, equations), some unknowns at a time."""
        ways = np.eye(rows.size + self.n_turned)
        parts = [ways[start : start + AT_ONCE] for start in range(0, len(ways), AT_ONCE)]
        found = [together(self._moving(rows, one[:, : rows.size], one[:, rows.size :])).ways for one in parts]
        return np.concatenate(found)


def _inverse(normal: FloatArray) -> FloatArray:
    """Of a matrix whose rows may be of many sizes."""
    sizes = 1 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
    return np.asarray(sizes[:, None] * np.linalg.pinv(sizes[:, None] * normal * sizes, hermitian=True) * sizes)
