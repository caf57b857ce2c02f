"""A passive party: it bins its columns, sums ciphertexts by candidate, and routes rows at its own splits."""

from __future__ import annotations

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.errors import InputError, ProtocolError
from fedleak.core.payload import Array, CipherArray, Scalar, Table, Tree
from fedleak.core.whole.federation import Party
from fedleak.crypto.cipher import PublicKey, concatenate, select
from fedleak.crypto.packing import capacity, pack_ciphertexts
from fedleak.models.boosting.binning import BinnedColumns, Candidates, quantile_thresholds
from fedleak.models.boosting.booster import Listing, listed_candidates
from fedleak.models.boosting.plain_owner import routed
from fedleak.protocols.actor import Actor
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.boosting.row_index import RowIndex, ciphertexts, integers, number


class ColumnOwner:
    """What every party does with its own columns, the label holder too."""

    def __init__(self, party: Party, actor: Actor, settings: SecureBoostSettings, offset: int) -> None:
        self.party, self.actor, self.settings, self.offset = party, actor, settings, offset
        self.features = _checked(actor.take_in(steps.OWN_DATA, party.train.features), party, settings)
        self.index = RowIndex(party.train.ids)
        thresholds = actor.compute(boosting.BINS, self.features, self._quantiles)
        self.columns = BinnedColumns.of(self.features, thresholds)
        self.splits: list[tuple[int, int, int, float, bool]] = []  # tree, node, own column, threshold, missing left
        self._keep_inputs()

    def listing(self) -> Listing:
        """The candidates of the next tree, in a fresh secret order."""
        settings = self.settings
        listed = listed_candidates(
            self.columns, self.actor.rng, by_column=settings.reveal_feature, column_share=settings.column_share
        )
        return Listing(self.columns, listed, self.offset)

    def keep_split(self, tree: int, node: int, listing: Listing, candidate: int) -> None:
        column, threshold, missing_left = listing.split(candidate)
        self.splits.append((tree, node, column - self.offset, threshold, missing_left))

    def keep_splits(self) -> None:
        names = ("tree", "node", "column", "threshold", "missing_left")
        values = np.array(self.splits, dtype=np.float64).reshape(-1, len(names))
        own = Table(names, np.arange(len(values), dtype=np.int64), values)
        self.actor.record(boosting.FINISHED, boosting.SPLITS, own)

    def hops(self, rows: FloatArray, trees: IntArray, nodes: IntArray) -> BoolArray:
        """Which way this party's nodes send rows of its own columns."""
        own = np.array(self.splits, dtype=np.float64).reshape(-1, 5)
        keys = {(int(tree), int(node)): place for place, (tree, node, *_) in enumerate(own)}
        asked = list(zip(trees.tolist(), nodes.tolist(), strict=True))
        unknown = next((key for key in asked if key not in keys), None)
        if unknown is not None:
            raise ProtocolError(f"{self.actor.name} has no split at node {unknown[1]} of tree {unknown[0]}")
        split = own[np.array([keys[key] for key in asked], dtype=np.int64)]
        values = rows[np.arange(len(rows)), split[:, 2].astype(np.int64)]
        return np.asarray(np.where(np.isnan(values), split[:, 4] > 0, values <= split[:, 3]), dtype=bool)

    def _quantiles(self, features: FloatArray) -> tuple[FloatArray, ...]:
        settings = self.settings
        return tuple(quantile_thresholds(column, settings.bins, settings.min_bin_rows) for column in features.T)

    def _keep_inputs(self) -> None:
        actor, party = self.actor, self.party
        actor.record(steps.OWN_DATA, steps.FEATURES, Table(party.columns, party.train.ids, self.features))
        if party.train.labels is not None:
            actor.record(steps.OWN_DATA, steps.LABELS, Table(("label",), party.train.ids, party.train.labels[:, None]))
        named = zip(party.columns, self.columns.thresholds, strict=True)
        actor.record(boosting.BINS, boosting.BIN_THRESHOLDS, Tree({name: Array(edges) for name, edges in named}))


def _checked(features: FloatArray, party: Party, settings: SecureBoostSettings) -> FloatArray:
    if np.isinf(features).any():
        raise InputError(f"columns of {party.name} must be finite, or NaN where a cell is missing; got infinity")
    outside = (features < -1e-9) | (features > 1 + 1e-9)  # NaN is neither
    if settings.unit_box and outside.any():
        raise InputError(
            f"columns of {party.name} must lie between 0 and 1; got {features[outside][0]:g}. "
            'Set [data] scaling = "minmax", or [federation] unit_box = false'
        )
    return features


class Partner(ColumnOwner):
    """During a tree it holds the ciphertexts of the gradients and who is in which node."""

    key: PublicKey
    current: Listing

    def start_tree(self, key: PublicKey, message: Tree) -> Array:
        """Takes the gradients in; the answer says which column each candidate is about, or hides it."""
        self.key, self._values = key, ciphertexts(message, "values")
        self._slot_bits = number(message, "slot_bits")
        rows = self.index.positions(integers(message, "rows"))
        self._place = np.full(len(self.index.ids), -1, dtype=np.int64)  # of each row among the ciphertexts
        self._place[rows] = np.arange(len(rows))
        self.current = self.listing()
        columns = self.current.candidates.column
        return Array(columns if self.settings.reveal_feature else np.full(len(columns), boosting.HIDDEN))

    def take_node_rows(self, message: Tree) -> None:
        rows, nodes = self.index.positions(integers(message, "rows")), integers(message, "nodes")
        if rows.shape != nodes.shape:
            raise ProtocolError(f"every row must have a node; got {len(rows)} rows and {len(nodes)} nodes")
        self._level, self._wanted = number(message, "level"), integers(message, "wanted")
        self._rows_of = {int(node): rows[nodes == node] for node in np.unique(nodes)}

    def sums(self) -> Tree:
        """For each wanted node the candidates' sums, all in one row of ciphertexts."""
        parts = [self._node_sums(int(node)) for node in self._wanted]
        sums = concatenate(parts) if parts else select(self._values, [])
        if self._slot_bits and len(sums.data):
            sums = pack_ciphertexts(self.key, sums, self._slot_bits, capacity(self.key.key_bits, self._slot_bits))
        elif not self._slot_bits:
            sums = _hessians_last(sums, len(parts))
        sent = self.key.rerandomise(sums)
        return Tree({"level": Scalar(self._level), "nodes": Array(self._wanted), "sums": sent})

    def _node_sums(self, node: int) -> CipherArray:
        if node not in self._rows_of:
            raise ProtocolError(f"{self.actor.name} was asked for sums of node {node}, which has no rows")
        rows = self._rows_of[node]
        rows = rows[self._place[rows] >= 0]
        places, groups = self._place[rows], self.columns.groups(rows)
        listed, n_groups = self.current.candidates, self.columns.n_groups
        n_rows = int((self._place >= 0).sum())
        starts = (0,) if self._slot_bits else (0, n_rows)  # apart, all hessians follow all gradients
        taken = [select(self._values, (places + start).tolist()) for start in starts]
        return concatenate([left_sums(self.key, c, groups, n_groups, listed) for c in taken])

    def take_chosen(self, message: Tree, tree: int) -> Tree:
        """The routing of the rows of every node where a candidate of this party won."""
        nodes, candidates = integers(message, "nodes"), integers(message, "candidates")
        rows, masks = [], []
        for node, candidate in zip(nodes.tolist(), candidates.tolist(), strict=True):
            if node not in self._rows_of or not 0 <= candidate < len(self.current.candidates):
                raise ProtocolError(f"{self.actor.name} offered no candidate {candidate} at node {node}")
            self.keep_split(tree, node, self.current, candidate)
            rows.append(self._rows_of[node])
            masks.append(routed(self.columns, self.current.candidates, candidate, rows[-1]))
        lengths = [len(part) for part in rows]
        return Tree(
            {
                "rows": Array(self.index.ids[np.concatenate(rows)]),
                "nodes": Array(np.repeat(nodes, lengths)),
                "left": Array(np.concatenate(masks)),
            }
        )


def _hessians_last(sums: CipherArray, n_nodes: int) -> CipherArray:
    """Node by node (gradients, hessians) becomes all gradients, then all hessians."""
    places = np.arange(len(sums.data)).reshape(max(n_nodes, 1), 2, -1)
    return select(sums, places.transpose(1, 0, 2).ravel().tolist())


def left_sums(key: PublicKey, c: CipherArray, groups: IntArray, n_groups: int, listed: Candidates) -> CipherArray:
    """Of each candidate, the sum over the rows that it sends left: running sums over the bins of its column."""
    if not len(listed):
        return select(c, [])
    sums = key.grouped_sum(c, groups, n_groups, n_running=n_groups - 1)  # the last group is of missing cells
    found = select(sums, (listed.column * n_groups + listed.cut).tolist())
    with_missing = np.flatnonzero(listed.missing_left)
    if not len(with_missing):
        return found
    missing = select(sums, (listed.column[with_missing] * n_groups + n_groups - 1).tolist())
    added = key.add(select(found, with_missing.tolist()), missing)
    place = np.arange(len(listed))
    place[with_missing] = len(listed) + np.arange(len(with_missing))
    return select(concatenate([found, added]), place.tolist())
