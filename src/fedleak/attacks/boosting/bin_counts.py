"""How many rows of each group are in each bin, as far as the sums prove it.

Three kinds of deduction, repeated until none says more. Every one of them holds for all solutions:
a group whose h alone exceeds what is left of a node's sum is not in the bin; the ways to reach a node's two sums are
enumerated where they are few; and all nodes' equations of a bin are solved modulo a prime. A group whose rows are all
placed leaves the other bins.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.boosting.histogram_system import HistogramSystem, InconsistentSumsError
from fedleak.attacks.boosting.modular_elimination import fixed_unknowns
from fedleak.attacks.boosting.subset_sums import count_ranges
from fedleak.core.arrays import BoolArray, IntArray

UNKNOWN = -1
BUDGETS = (3_000, 30_000)  # ways that half of a node may have; the first is enough nearly always


def proved_counts(system: HistogramSystem, budgets: tuple[int, ...] = BUDGETS) -> IntArray:
    """(groups, bins): rows of the group in the bin, or UNKNOWN."""
    search = _Search(system)
    for budget in budgets:
        search.sweep(budget)
        if not (search.counts == UNKNOWN).any():
            break
    return search.counts


class _Search:
    def __init__(self, system: HistogramSystem) -> None:
        self.system = system
        self.counts: IntArray = np.full((system.n_groups, system.n_bins), UNKNOWN, dtype=np.int64)
        self.left = system.sizes.copy()  # rows of each group that are not placed yet
        self.waiting: BoolArray = np.ones(system.n_bins, dtype=bool)  # bins that have something new
        self.rest_g, self.rest_h = system.sums[..., 0].copy(), system.sums[..., 1].copy()  # (nodes, bins)
        self.members = [np.flatnonzero(g | h) for g, h in zip(system.g, system.h, strict=True)]
        self.joint: list[dict[tuple[int, ...], int]] = [{} for _ in range(system.n_bins)]  # groups: rows of all of them
        self.tried: dict[tuple[int, int], tuple[bytes, int]] = {}

    def sweep(self, budget: int) -> None:
        self.waiting[:] = True
        while self.waiting.any():
            for bin_ in np.flatnonzero(self.waiting).tolist():
                self.waiting[bin_] = False
                self._leave_out_heavy(bin_)
                for node in range(len(self.members)):
                    self._enumerate(node, bin_, budget)
                self._eliminate(bin_, budget)

    def _put(self, group: int, bin_: int, count: int) -> None:
        if self.counts[group, bin_] != UNKNOWN:
            if self.counts[group, bin_] != count:
                raise InconsistentSumsError
            return
        if not 0 <= count <= self.left[group]:
            raise InconsistentSumsError
        self._write(group, bin_, count)
        self._complete(group)

    def _write(self, group: int, bin_: int, count: int) -> None:
        self.counts[group, bin_] = count
        self.waiting[bin_] = True
        if count:
            self.left[group] -= count
            self.rest_g[:, bin_] -= count * self.system.g[:, group]
            self.rest_h[:, bin_] -= count * self.system.h[:, group]

    def _complete(self, group: int) -> None:
        """All rows placed: none elsewhere. One bin left: the remaining rows are there."""
        open_bins = np.flatnonzero(self.counts[group] == UNKNOWN)
        if len(open_bins) and self.left[group] == 0:
            for bin_ in open_bins.tolist():
                self._write(group, bin_, 0)
        elif len(open_bins) == 1:
            self._write(group, int(open_bins[0]), int(self.left[group]))
        elif not len(open_bins) and self.left[group]:
            raise InconsistentSumsError

    def _leave_out_heavy(self, bin_: int) -> None:
        while True:
            if (self.rest_h[:, bin_] < 0).any():
                raise InconsistentSumsError
            open_groups = np.flatnonzero(self.counts[:, bin_] == UNKNOWN)
            heavy = (self.system.h[:, open_groups] > self.rest_h[:, bin_, None]).any(axis=0)
            if not heavy.any():
                return
            for group in open_groups[heavy]:
                self._put(int(group), bin_, 0)

    def _enumerate(self, node: int, bin_: int, budget: int) -> None:
        """Groups of one g and h are one kind of piece: in the first tree there are two kinds, the classes."""
        members = self.members[node]
        groups = members[self.counts[members, bin_] == UNKNOWN]
        state = (groups.tobytes(), budget)
        if not len(groups) or self.tried.get((node, bin_)) == state:
            return
        self.tried[node, bin_] = state
        pairs = np.stack([self.system.g[node, groups], self.system.h[node, groups]])
        kinds, kind_of = np.unique(pairs, axis=1, return_inverse=True)
        kind_of = kind_of.ravel()
        pieces = np.bincount(kind_of, self.left[groups]).astype(np.int64)
        target = (int(self.rest_g[node, bin_]), int(self.rest_h[node, bin_]))
        limits = np.where(kinds[1] > 0, np.minimum(pieces, target[1] // np.maximum(kinds[1], 1)), pieces)
        if np.log2(limits + 1.0).sum() > 4 * np.log2(budget):  # hopeless: h prunes, but not that much
            return
        ranges = count_ranges(kinds[0], kinds[1], limits, target, budget)
        if ranges is not None:
            for kind in np.flatnonzero(ranges.least == ranges.most):
                self._learn(groups[kind_of == kind], bin_, int(ranges.least[kind]), int(pieces[kind]))

    def _learn(self, groups: IntArray, bin_: int, count: int, pieces: int) -> None:
        """So many rows of these groups together are in the bin."""
        if len(groups) == 1:
            self._put(int(groups[0]), bin_, count)
        elif count in (0, pieces):
            for group in groups:
                self._put(int(group), bin_, int(self.left[group]) if count else 0)
        else:
            self.joint[bin_][tuple(int(group) for group in groups)] = count
            self.waiting[bin_] = True

    def _eliminate(self, bin_: int, budget: int) -> None:
        groups = np.flatnonzero(self.counts[:, bin_] == UNKNOWN)
        if not len(groups):
            return
        joint, joint_counts = self._joint_equations(groups, bin_)
        matrix = np.concatenate([self.system.g[:, groups], self.system.h[:, groups], joint])
        right = np.concatenate([self.rest_g[:, bin_], self.rest_h[:, bin_], joint_counts])
        found = fixed_unknowns(matrix, right, self.left[groups], budget)
        for position, count in zip(*found, strict=True):
            self._put(int(groups[position]), bin_, int(count))

    def _joint_equations(self, groups: IntArray, bin_: int) -> tuple[IntArray, IntArray]:
        rows = np.zeros((len(self.joint[bin_]), len(groups)), dtype=np.int64)
        right = np.zeros(len(self.joint[bin_]), dtype=np.int64)
        place = {int(group): position for position, group in enumerate(groups)}
        for number, (members, count) in enumerate(self.joint[bin_].items()):
            open_members = [place[group] for group in members if group in place]
            rows[number, open_members] = 1
            right[number] = count - sum(int(self.counts[group, bin_]) for group in members if group not in place)
        return rows, right
