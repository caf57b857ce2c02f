"""Runs in Flower's own environment: FedAvg in its simulation, with a mod at every client that keeps what passes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.frameworks.flower.flower_steps import FRACTION_BITS, SERVER, rate_of, record_rounds
from fedleak.frameworks.job import CAPTURE, TRUTH, Held, Job, check_version, read_job, run_inside
from fedleak.recorder import Recorder

FOLDER = "FEDLEAK_JOB"


def main(job: Job) -> None:
    import flwr

    check_version(job, flwr.__version__, "Flower")
    os.environ[FOLDER] = str(job.folder)
    os.environ["RAY_DEDUP_LOGS"] = "0"
    _simulate(job)
    record(job)


def _simulate(job: Job) -> None:
    from flwr.simulation import run_simulation

    backend = {"client_resources": {"num_cpus": 1}, "init_args": {"num_cpus": 1, "include_dashboard": False}}
    run_simulation(_server_app(job), _client_app(), len(job.parties), backend_config=backend)


def _server_app(job: Job) -> Any:
    from flwr.app import ArrayRecord
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg

    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def serve(grid: Any, _context: Any) -> None:
        n = len(job.parties)
        strategy = FedAvg(fraction_evaluate=0.0, min_train_nodes=n, min_available_nodes=n)
        rng = np.random.default_rng(job.seed)
        first = ArrayRecord([0.1 * rng.standard_normal(len(job.parties[0].columns))])
        result = strategy.start(grid, first, num_rounds=job.options["rounds"])
        np.save(job.folder / "model-last.npy", result.arrays.to_numpy_ndarrays()[0])

    return app


def _client_app() -> Any:
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    def keeping(message: Any, context: Any, call_next: Any) -> Any:
        """The recording point: what one client receives and sends."""
        number, rank = int(message.content["config"]["server-round"]) - 1, int(context.node_config["partition-id"])
        folder = Path(os.environ[FOLDER])
        np.save(folder / f"model-{number}-{rank}.npy", message.content["arrays"].to_numpy_ndarrays()[0])
        answer = call_next(message, context)
        np.save(folder / f"sent-{number}-{rank}.npy", answer.content["arrays"].to_numpy_ndarrays()[0])
        return answer

    app = ClientApp(mods=[keeping])

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Any, context: Any) -> Any:
        job = read_job(Path(os.environ[FOLDER]))
        number, rank = int(message.content["config"]["server-round"]) - 1, int(context.node_config["partition-id"])
        weights = message.content["arrays"].to_numpy_ndarrays()[0]
        own = job.parties[rank]
        stepped = weights - job.options["learning_rate"] * _mean_gradient(own, weights, _batch(job, rank, number))
        arrays, counts = ArrayRecord([stepped]), MetricRecord({"num-examples": len(own.ids)})
        return Message(content=RecordDict({"arrays": arrays, "metrics": counts}), reply_to=message)

    return app


def _batch(job: Job, rank: int, number: int) -> Any:
    """The first client takes a few of its rows, others in every round; all others take all of theirs."""
    if rank:
        return slice(None)
    n_rows = len(job.parties[0].ids)
    rng = np.random.default_rng([job.seed, number])
    return rng.permutation(n_rows)[: max(1, min(n_rows, job.options["curious_batch"]))]


def _mean_gradient(own: Held, weights: FloatArray, batch: Any) -> FloatArray:
    rows, signs = own.cells[batch], 2.0 * np.asarray(own.labels)[batch] - 1.0
    return np.asarray(rows.T @ (rows @ weights - signs) / len(rows))


def record(job: Job) -> None:
    names = [party.name for party in job.parties]
    rows = {party.name: len(party.ids) for party in job.parties}
    rounds = job.options["rounds"]
    models = [np.load(job.folder / f"model-{number}-0.npy") for number in range(rounds)]
    models.append(np.load(job.folder / "model-last.npy"))
    sent = {
        name: [np.load(job.folder / f"sent-{number}-{rank}.npy") for number in range(rounds)]
        for rank, name in enumerate(names)
    }
    with Recorder(
        job.folder / CAPTURE,
        {**dict.fromkeys(names, "active"), SERVER: "server"},
        protocol=f"flower {job.version}",
        truth=job.folder / TRUTH,
        family="horizontal-logistic",
        rounds=rounds,
        shuffled=(names[0],),
        update="synchronised",
        rate_decay=0.0,
        dropouts=(),
        approximation="taylor",
        score_noise=0.0,
        fraction_bits=FRACTION_BITS,
        learning_rate=rate_of(len(names), sum(rows.values()), job.options["learning_rate"]),
    ) as recorder:
        for party in job.parties:
            labels = np.asarray(party.labels)[:, None]
            recorder.record(party.name, "features", party.cells, ids=party.ids, columns=party.columns)
            recorder.record(party.name, "labels", labels, ids=party.ids)
            recorder.truth(party.name, party.cells, ids=party.ids, columns=party.columns, labels=labels)
        record_rounds(recorder, rows, models, sent)


if __name__ == "__main__":
    run_inside(main)
