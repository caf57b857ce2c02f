"""Runs in XGBoost's own environment: a server, the parties, and a proxy on the last party's connection.

The server sends every party the same, so that one connection shows what each of them and the server sees.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
from collections.abc import Sequence
from concurrent import futures
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from fedleak.frameworks.held_tables import record_tables
from fedleak.frameworks.job import CAPTURE, TRUTH, Job, check_version, run_inside
from fedleak.frameworks.xgboost.xgboost_trees import TreeRecording
from fedleak.frameworks.xgboost.xgboost_wire import Exchange, events
from fedleak.recorder import Recorder

AGGREGATOR = "aggregator"
SPAWN = multiprocessing.get_context("spawn")
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)]
Model = dict[str, Any]


def main(job: Job) -> None:
    import xgboost

    check_version(job, xgboost.__version__, "XGBoost")
    exchanges: list[Exchange] = []
    parameters = parameters_of(job)
    _federate(job, parameters, exchanges)
    model = json.loads((job.folder / "model0.json").read_text(encoding="utf-8"))
    record(job, f"xgboost {job.version}", parameters, exchanges, model)


def parameters_of(job: Job) -> dict[str, Any]:
    options, labels = job.options, np.asarray(job.parties[0].labels)
    found = {
        "max_depth": options["depth"],
        "eta": options["learning_rate"],
        "max_bin": options["bins"],
        "tree_method": "hist",
        "nthread": 1,
        "seed": job.seed,
    }
    if labels.dtype.kind == "f":
        return {**found, "objective": "reg:squarederror"}
    n_classes = int(labels.max()) + 1
    if n_classes == 2:
        return {**found, "objective": "binary:logistic"}
    return {**found, "objective": "multi:softprob", "num_class": n_classes}


def _federate(job: Job, parameters: dict[str, Any], exchanges: list[Exchange]) -> None:
    port, n = _free_port(), len(job.parties)
    server = SPAWN.Process(target=_serve, args=(n, port))
    server.start()
    proxy, proxy_port = _proxy(port, exchanges)
    ports = [*(port for _ in job.parties[1:]), proxy_port]
    parties = [
        SPAWN.Process(target=_take_part, args=(str(job.folder), rank, n, ports[rank], parameters)) for rank in range(n)
    ]
    try:
        for party in parties:
            party.start()
        _wait(parties, server)
    finally:
        for child in (*parties, server):  # the server never ends by itself
            child.kill()
            child.join()
        proxy.stop(None)


def _wait(parties: list[SpawnProcess], server: SpawnProcess) -> None:
    while any(party.exitcode is None for party in parties):
        failed = [party.exitcode for party in parties if party.exitcode]
        if failed or server.exitcode is not None:
            code = failed[0] if failed else server.exitcode
            raise RuntimeError(f"a party of the training failed, or the server, with exit code {code}")
        sleep(0.05)
    if any(party.exitcode for party in parties):
        raise RuntimeError("a party of the training failed")


def _serve(n_parties: int, port: int) -> None:
    from xgboost.federated import run_federated_server

    run_federated_server(n_parties, port)


def _take_part(folder: str, rank: int, n_parties: int, port: int, parameters: dict[str, Any]) -> None:
    import xgboost

    from fedleak.frameworks.job import read_job

    job = read_job(Path(folder))
    own = job.parties[rank]
    _until_open(port)
    with xgboost.collective.CommunicatorContext(
        dmlc_communicator="federated",
        federated_server_address=f"127.0.0.1:{port}",
        federated_world_size=n_parties,
        federated_rank=rank,
    ):
        data = xgboost.DMatrix(own.cells, label=own.labels if rank == 0 else None, data_split_mode=1)
        model = xgboost.train(parameters, data, num_boost_round=job.options["rounds"])
        model.save_model(job.folder / f"model{rank}.json")


def _until_open(port: int, seconds: float = 30.0) -> None:
    ends = monotonic() + seconds
    while monotonic() < ends:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        sleep(0.05)
    raise RuntimeError("the server did not start")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _proxy(target: int, exchanges: list[Exchange]) -> tuple[Any, int]:
    """Passes bytes through; needs no description of the messages."""
    import grpc

    channel = grpc.insecure_channel(f"127.0.0.1:{target}", options=UNLIMITED)

    class PassOn(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: Any) -> Any:
            call = channel.unary_unary(details.method)

            def passed(request: bytes, _context: Any) -> bytes:
                reply: bytes = call(request, wait_for_ready=True)
                exchanges.append(Exchange(details.method.rpartition("/")[2], request, reply))
                return reply

            return grpc.unary_unary_rpc_method_handler(passed)

    server = grpc.server(futures.ThreadPoolExecutor(2), options=UNLIMITED)
    server.add_generic_rpc_handlers((PassOn(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def record(job: Job, protocol: str, parameters: dict[str, Any], exchanges: Sequence[Exchange], model: Model) -> None:
    """``model`` is what the party with the labels ends up with."""
    names = [party.name for party in job.parties]
    roles = dict.fromkeys(names, "passive") | {names[0]: "active", AGGREGATOR: "server"}
    objective = {"reg": "squared", "bin": "logistic", "mul": "softmax"}[parameters["objective"][:3]]
    with Recorder(
        job.folder / CAPTURE,
        roles,
        protocol=protocol,
        truth=job.folder / TRUTH,
        family="boosting",
        objective=objective,
        n_classes=None if objective == "squared" else parameters.get("num_class", 2),
        n_rounds=job.options["rounds"],
        depth=job.options["depth"],
        bins=job.options["bins"],
        label_epsilon=0.0,
        row_share=1.0,
        goss=False,
        learning_rate=job.options["learning_rate"],
    ) as recorder:
        record_tables(recorder, job.parties)
        ids, widths = job.parties[0].ids, [len(party.columns) for party in job.parties]
        n_trees = TreeRecording(recorder, names, widths, ids).take(events(exchanges, len(ids)))
        trees = model["learner"]["gradient_booster"]["model"]["trees"]
        if n_trees != len(trees):
            raise RuntimeError(f"the recording must hold all {len(trees)} trees of the model; it holds {n_trees}")
        _record_splits(job, recorder, trees)


def _record_splits(job: Job, recorder: Recorder, trees: list[Model]) -> None:
    """Each party's own nodes, from the model that it ends up with: what thresholds are checked against."""
    owner = np.repeat(np.arange(len(job.parties)), [len(party.columns) for party in job.parties])
    first = np.cumsum([0, *(len(party.columns) for party in job.parties)])
    names = ("tree", "node", "column", "threshold", "missing_left")
    found: list[list[tuple[float, ...]]] = [[] for _ in job.parties]
    for number, tree in enumerate(trees):
        parts = zip(
            tree["left_children"], tree["split_indices"], tree["split_conditions"], tree["default_left"], strict=True
        )
        for node, (left, column, threshold, default_left) in enumerate(parts):
            if left >= 0:
                rank = int(owner[column])
                split = (number, node, column - int(first[rank]), float(np.float32(threshold)), default_left)
                found[rank].append(split)
    for party, own in zip(job.parties, found, strict=True):
        cells = np.array(own, dtype=np.float64).reshape(-1, len(names))
        recorder.record(party.name, "splits", cells, ids=np.arange(len(cells)), columns=names, step="train.finished")


if __name__ == "__main__":
    run_inside(main)
