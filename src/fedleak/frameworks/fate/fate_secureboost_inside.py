"""Runs in FATE's own environment: SecureBoost between a guest with the labels and a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.payload import IntegerArray
from fedleak.frameworks.fate.fate_ciphertexts import as_ciphertexts, read_modulus
from fedleak.frameworks.fate.fate_parties import GUEST, HOST, Seat, federated
from fedleak.frameworks.fate.fate_secureboost_steps import SecureBoostRecording, own_steps_of
from fedleak.frameworks.fate.fate_steps import Pushed
from fedleak.frameworks.held_tables import record_tables
from fedleak.frameworks.job import CAPTURE, TRUTH, Held, Job, check_version, run_inside
from fedleak.recorder import Recorder

PLACES = (GUEST, HOST)
HOST_SITE = "_".join(HOST)
OBJECTIVES = {"logistic": "binary:bce", "softmax": "multi:ce", "squared": "regression:l2"}


def main(job: Job) -> None:
    from importlib.metadata import version

    check_version(job, version("pyfate"), "FATE")
    pushed, splits = federated(job, PLACES, trained)
    record(job, pushed, splits)


def trained(seat: Seat) -> None:
    import torch

    job = seat.job
    torch.manual_seed(job.seed * len(PLACES) + seat.number)
    context, ids = seat.context(), job.parties[0].ids
    seat.keep_pushed(lambda name, value: plain(name, value, ids))
    shape = {"num_trees": job.options["rounds"], "max_depth": job.options["depth"], "max_bin": job.options["bins"]}
    if seat.place == GUEST:
        context.cipher.set_phe(context.device, {"kind": "paillier", "key_length": job.options["key_bits"]})
        model = _guest(job, shape)
    else:
        from fate.ml.ensemble.algo.secureboost.hetero.host import HeteroSecureBoostHost

        model = HeteroSecureBoostHost(**shape)
    frame = seat.frame(context, cells="float64")
    model.fit(context, frame)
    seat.keep(seat.own.name, _own_splits(model.get_model()["trees"], "_".join(seat.place), seat.own.columns))
    model.predict(context, frame)


def _guest(job: Job, shape: Mapping[str, int]) -> Any:
    from fate.ml.ensemble.algo.secureboost.hetero.guest import HeteroSecureBoostGuest

    objective, n_classes = objective_of(job.parties[0])
    packed = job.options["packed"]
    return HeteroSecureBoostGuest(
        **shape,
        learning_rate=job.options["learning_rate"],
        l2=job.options["l2"],
        objective=OBJECTIVES[objective],
        num_class=n_classes,
        gh_pack=packed,
        split_info_pack=packed,
    )


def objective_of(holder: Held) -> tuple[str, int | None]:
    """In our words, and how many classes there are."""
    assert holder.labels is not None
    if holder.labels.dtype.kind == "f" and not np.array_equal(holder.labels, np.rint(holder.labels)):
        return "squared", None
    n_classes = len(np.unique(holder.labels))
    return ("logistic", 2) if n_classes == 2 else ("softmax", n_classes)


def plain(name: str, value: Any, ids: IntArray) -> object:
    """What was pushed, as a capture can hold it; of what it cannot, the name of its kind."""
    if isinstance(value, bool | int | float | str):
        return value
    if name == "en_kit":
        modulus = read_modulus(bytes(value[0].pk.__getstate__()))
        return {"modulus": IntegerArray.from_ints([modulus], -(-modulus.bit_length() // 8))}
    if name == "en_gh":
        return _gradients([block for _, block in sorted(value.block_table.collect(), key=lambda pair: pair[0])], ids)
    if name == "hist":
        return {"counts": _counts(value)}
    if name == "sync_nodes":
        return _nodes(value[0])
    if isinstance(value, dict):
        return {key: part for key, part in value.items() if isinstance(part, bool | int | float | str)}
    if hasattr(value, "as_pd_df"):
        return _table(value.as_pd_df(), ids)
    return type(value).__name__


def _gradients(blocks: Sequence[Sequence[Any]], ids: IntArray) -> dict[str, object]:
    """A block has names of rows, twice, and a vector of ciphertexts a column; all of g come before all of h."""
    rows = [place for block in blocks for place in _places(block[0])]
    columns = [bytes(block[column].__getstate__()) for column in range(2, len(blocks[0])) for block in blocks]
    return {"rows": ids[rows], "values": as_ciphertexts(columns)}


def _places(names: Any) -> list[int]:
    """Rows are named by their position."""
    return [int(name) for name in names]


def _counts(histogram: Any) -> IntArray:
    """(nodes, candidates): rows on the left of each, which stand in plaintext beside the sums."""
    import torch

    parts = [split for _, split in sorted(histogram._splits.collect(), key=lambda pair: pair[0])]
    by_node = [part._data._data["cnt"].data.reshape(part.num_node, -1) for part in parts]
    return np.asarray(torch.cat(by_node, dim=1).numpy(), dtype=np.int64)


def _nodes(nodes: Sequence[Any]) -> dict[str, object]:
    return {
        "nodes": np.array([node.nid for node in nodes], dtype=np.int64),
        "left": np.array([node.l for node in nodes], dtype=np.int64),
        "right": np.array([node.r for node in nodes], dtype=np.int64),
        "leaf": np.array([node.is_leaf for node in nodes], dtype=bool),
        "at_host": np.array([node.sitename == HOST_SITE for node in nodes], dtype=bool),
        "candidates": np.array([-1 if node.split_id is None else node.split_id for node in nodes], dtype=np.int64),
        "rows": np.array([node.sample_num for node in nodes], dtype=np.int64),
    }


COLUMNS = {"h_on_local": "here", "h_node_idx": "next", "node_idx": "next"}


def _table(frame: Any, ids: IntArray) -> dict[str, object]:
    """Positions in trees, by row; those of a prediction are of all trees at once."""
    found: dict[str, object] = {"rows": ids[_places(frame["fedleak-row"])]}
    for column in frame.columns:
        if column in COLUMNS:
            dtype = bool if COLUMNS[column] == "here" else np.int64
            found[COLUMNS[column]] = frame[column].to_numpy().astype(dtype)
        elif column in ("sample_pos", "host_sample_pos"):
            found["positions"] = np.stack([np.asarray(one, dtype=np.int64) for one in frame[column]])
    return found


def _own_splits(trees: Sequence[Mapping[str, Any]], site: str, columns: Sequence[str]) -> list[tuple[float, ...]]:
    """Of each own node: tree, node, column, threshold, and that missing cells do not go left."""
    place = {name: number for number, name in enumerate(columns)}
    return [
        (number, node["nid"], place[node["fid"]], float(node["bid"]), 0.0)
        for number, tree in enumerate(trees)
        for node in tree["nodes"]
        if node["sitename"] == site and not node["is_leaf"]
    ]


def record(job: Job, pushed: Sequence[Pushed], splits: Mapping[str, Sequence[tuple[float, ...]]]) -> None:
    options, (holder, partner) = job.options, job.parties
    objective, n_classes = objective_of(holder)
    with Recorder(
        job.folder / CAPTURE,
        {holder.name: "active", partner.name: "passive"},
        protocol=f"fate {job.version}",
        truth=job.folder / TRUTH,
        own_steps=own_steps_of(pushed),
        family="boosting",
        objective=objective,
        n_classes=n_classes,
        n_rounds=options["rounds"],
        depth=options["depth"],
        bins=options["bins"],
        l2=options["l2"],
        learning_rate=options["learning_rate"],
        label_epsilon=0.0,
        row_share=1.0,
        goss=False,
        reveal_feature=False,
        tell_leaves=True,
        packed=options["packed"],
        blinding="fresh" if options["packed"] else "none",  # of this version
        cipher="paillier",
        key_bits=options["key_bits"],
    ) as recorder:
        record_tables(recorder, job.parties)
        SecureBoostRecording(recorder, holder.name, partner.name, holder.ids).take(pushed)
        for party in job.parties:
            cells = np.array(splits[party.name], dtype=np.float64).reshape(-1, 5)
            names = ("tree", "node", "column", "threshold", "missing_left")
            ids = np.arange(len(cells))
            recorder.record(party.name, "splits", cells, ids=ids, columns=names, step="train.finished")


if __name__ == "__main__":
    run_inside(main)
