"""Runs in Flower's own environment: FedAvg in its simulation, with a mod at every client that keeps what passes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fedleak.frameworks.averaged_clients import FOLDER, MODELS, after_own_step, job_of_client, keep
from fedleak.frameworks.averaged_record import record_averaging
from fedleak.frameworks.flower import flower_secagg
from fedleak.frameworks.flower.flower_steps import FRACTION_BITS, secagg_noise
from fedleak.frameworks.job import Job, check_version, run_inside

PLAIN, SECURE = "plain", "secagg+"


def main(job: Job) -> None:
    import flwr

    check_version(job, flwr.__version__, "Flower")
    _check_options(job)
    os.environ[FOLDER] = str(job.folder)
    os.environ["RAY_DEDUP_LOGS"] = "0"
    if job.options["aggregation"] == SECURE:
        simulate(flower_secagg.server_app(job), flower_secagg.client_app(), len(job.parties))
    else:
        simulate(_server_app(job), _client_app(), len(job.parties))
    record(job)


def _check_options(job: Job) -> None:
    for name, known in (("aggregation", (PLAIN, SECURE)), ("model", MODELS)):
        if job.options[name] not in known:
            raise ValueError(f"{name} must be {' or '.join(known)}; got {job.options[name]!r}")
    if job.options["aggregation"] == SECURE and len(job.parties) < 3:
        raise ValueError(f"SecAgg+ needs at least 3 parties (it refuses two shares); got {len(job.parties)}")


def simulate(server: Any, clients: Any, n_clients: int) -> None:
    from flwr.simulation import run_simulation

    backend = {"client_resources": {"num_cpus": 1}, "init_args": {"num_cpus": 1, "include_dashboard": False}}
    run_simulation(server, clients, n_clients, backend_config=backend)


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
        keep("model", number, rank, message.content["arrays"].to_numpy_ndarrays()[0])
        answer = call_next(message, context)
        keep("sent", number, rank, answer.content["arrays"].to_numpy_ndarrays()[0])
        return answer

    app = ClientApp(mods=[keeping])

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Any, context: Any) -> Any:
        job = job_of_client()
        number, rank = int(message.content["config"]["server-round"]) - 1, int(context.node_config["partition-id"])
        stepped = after_own_step(job, rank, number, message.content["arrays"].to_numpy_ndarrays()[0])
        arrays, counts = ArrayRecord([stepped]), MetricRecord({"num-examples": len(job.parties[rank].ids)})
        return Message(content=RecordDict({"arrays": arrays, "metrics": counts}), reply_to=message)

    return app


def record(job: Job) -> None:
    if job.options["aggregation"] == PLAIN:
        precision: dict[str, float] = {"score_noise": 0.0, "fraction_bits": FRACTION_BITS}
    else:  # what SecAgg+ rounds
        n_rows, weight = sum(len(party.ids) for party in job.parties), job.options["max_weight"]
        noise = secagg_noise(len(job.parties), n_rows, weight, flower_secagg.CLIPPING, flower_secagg.LEVELS)
        precision = {"update_noise": noise}
    record_averaging(job, f"flower {job.version}", precision, masked=job.options["aggregation"] == SECURE)


if __name__ == "__main__":
    run_inside(main)
