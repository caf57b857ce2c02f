"""Runs in Flower's own environment, with torch: FedAvg over clients that take one step of gradient descent on all of
their rows. What a client sends, less what it received, is its gradient times the rate; a mod keeps both."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.frameworks.averaged_clients import FOLDER, job_of_client
from fedleak.frameworks.flower.flower_inside import simulate
from fedleak.frameworks.flower.flower_torch_steps import NAMES, record_gradients
from fedleak.frameworks.job import Job, check_version, run_inside

ROUND = "server-round"


def main(job: Job) -> None:
    import flwr

    check_version(job, flwr.__version__, "Flower")
    os.environ[FOLDER] = str(job.folder)
    os.environ["RAY_DEDUP_LOGS"] = "0"
    simulate(_server_app(job), _client_app(), len(job.parties))
    kept = [[_kept(job, number, rank) for rank in range(len(job.parties))] for number in range(job.options["rounds"])]
    record_gradients(job, kept)


def _kept(job: Job, number: int, rank: int) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """What a client received and what it sent, by parameter."""
    found = np.load(job.folder / f"passed-{number}-{rank}.npz")
    before, after = ({name: found[f"{which}/{name}"] for name in NAMES} for which in ("before", "after"))
    return before, after


def n_classes_of(job: Job) -> int:
    return max(2, 1 + max(int(np.max(np.asarray(party.labels))) for party in job.parties))


def module_of(job: Job) -> Any:
    import torch
    from torch import nn

    torch.manual_seed(job.seed)
    width, hidden = len(job.parties[0].columns), job.options["hidden"]
    return nn.Sequential(nn.Linear(width, hidden), nn.Sigmoid(), nn.Linear(hidden, n_classes_of(job))).double()


def _server_app(job: Job) -> Any:
    from flwr.app import ArrayRecord
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg

    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def serve(grid: Any, _context: Any) -> None:
        n = len(job.parties)
        strategy = FedAvg(fraction_evaluate=0.0, min_train_nodes=n, min_available_nodes=n)
        strategy.start(grid, ArrayRecord(module_of(job).state_dict()), num_rounds=job.options["rounds"])

    return app


def _client_app() -> Any:
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    def keeping(message: Any, context: Any, call_next: Any) -> Any:
        """The recording point: parameters that come, parameters that leave."""
        number, rank = int(message.content["config"][ROUND]) - 1, int(context.node_config["partition-id"])
        passed = {f"before/{name}": value.numpy() for name, value in message.content["arrays"].items()}
        answer = call_next(message, context)
        passed |= {f"after/{name}": value.numpy() for name, value in answer.content["arrays"].items()}
        np.savez(job_of_client().folder / f"passed-{number}-{rank}.npz", **passed)
        return answer

    app = ClientApp(mods=[keeping])

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Any, context: Any) -> Any:
        job = job_of_client()
        own = job.parties[int(context.node_config["partition-id"])]
        module = module_of(job)
        module.load_state_dict(message.content["arrays"].to_torch_state_dict())
        descend(module, own.cells, np.asarray(own.labels), job.options["learning_rate"])
        counts = MetricRecord({"num-examples": len(own.ids)})
        content = RecordDict({"arrays": ArrayRecord(module.state_dict()), "metrics": counts})
        return Message(content=content, reply_to=message)

    return app


def descend(module: Any, cells: FloatArray, labels: Any, rate: float) -> None:
    import torch

    optimiser = torch.optim.SGD(module.parameters(), lr=rate)
    scores = module(torch.from_numpy(np.ascontiguousarray(cells, dtype=np.float64)))
    loss: Any = torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels.astype(np.int64)))
    loss.backward()
    optimiser.step()


if __name__ == "__main__":
    run_inside(main)
