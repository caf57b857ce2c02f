"""Runs in Flower's own environment: a split network on its message API. The server holds the labels, clients columns.

A query asks a client for the embeddings of a batch, a train message brings it their gradient. A mod at every client
keeps what passes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.frameworks.averaged_clients import FOLDER, job_of_client, keep
from fedleak.frameworks.flower.flower_inside import simulate
from fedleak.frameworks.flower.flower_split_steps import record_split
from fedleak.frameworks.flower.split_layers import Dense, Top
from fedleak.frameworks.job import Job, check_version, run_inside

BOTTOM = "bottom"  # a client's own, in its state


def main(job: Job) -> None:
    import flwr

    check_version(job, flwr.__version__, "Flower")
    os.environ[FOLDER] = str(job.folder)
    os.environ["RAY_DEDUP_LOGS"] = "0"
    simulate(_server_app(job), _client_app(), len(job.parties) - 1)
    numbers = range(len(batches_of(job)))
    sent, back = (
        [np.load(job.folder / f"{name}-{number}-0.npy") for number in numbers] for name in ("embeddings", "gradients")
    )
    record_split(job, batches_of(job), sent, back)


def batches_of(job: Job) -> list[IntArray]:
    """Positions of the rows of each batch, known to all: all rows, or dealt anew in every epoch."""
    n_rows, rng = len(job.parties[0].ids), np.random.default_rng([job.seed, 1])
    size = job.options["batch_size"] or n_rows
    found: list[IntArray] = []
    while len(found) < job.options["rounds"]:
        order = np.arange(n_rows) if size >= n_rows else rng.permutation(n_rows)
        found += [order[start : start + size] for start in range(0, n_rows, size)]
    return found[: job.options["rounds"]]


class Holder:
    """The party with the labels: its own bottom, and the top."""

    def __init__(self, job: Job) -> None:
        self.own = job.parties[0]
        self.labels = np.asarray(self.own.labels).astype(np.int64)
        self.rate, self.width = job.options["learning_rate"], job.options["outputs"]
        rng = np.random.default_rng([job.seed, 2])
        self.bottom = Dense.drawn(len(self.own.columns), self.width, rng)
        n_classes = max(2, int(self.labels.max()) + 1)
        self.top = Top.drawn(2 * self.width, job.options["hidden"], n_classes, rng)

    def step(self, rows: IntArray, received: FloatArray) -> FloatArray:
        """The gradient for the partner, after own steps."""
        cells = self.own.cells[rows]
        both = np.hstack([self.bottom.outputs(cells), received])
        gradient = self.top.step(both, self.labels[rows], self.rate)
        self.bottom.step(cells, gradient[:, : self.width], self.rate)
        return gradient[:, self.width :]


def _server_app(job: Job) -> Any:
    from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
    from flwr.serverapp import ServerApp

    app = ServerApp()

    def ask(grid: Any, node: int, kind: str, number: int, arrays: Sequence[FloatArray]) -> Any:
        content = RecordDict({"config": ConfigRecord({"round": number}), "arrays": ArrayRecord(list(arrays))})
        message = Message(content=content, dst_node_id=node, message_type=kind)
        (answer,) = grid.send_and_receive([message])
        if answer.has_error():
            raise RuntimeError(f"the client failed in round {number}: {answer.error.reason}")
        return answer

    @app.main()  # type: ignore[untyped-decorator]
    def serve(grid: Any, _context: Any) -> None:
        holder, node = Holder(job), _node(grid)
        for number, rows in enumerate(batches_of(job)):
            answer = ask(grid, node, MessageType.QUERY, number, [rows.astype(np.float64)])
            gradient = holder.step(rows, answer.content["arrays"].to_numpy_ndarrays()[0])
            ask(grid, node, MessageType.TRAIN, number, [gradient])

    return app


def _node(grid: Any) -> int:
    """The one client, once it is there."""
    import time

    for _ in range(600):
        found = list(grid.get_node_ids())
        if found:
            return int(found[0])
        time.sleep(0.1)
    raise RuntimeError("no client came within a minute")


def _client_app() -> Any:
    from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp

    def keeping(message: Any, context: Any, call_next: Any) -> Any:
        """The recording point: embeddings that leave, gradients that come."""
        number, rank = int(message.content["config"]["round"]), int(context.node_config["partition-id"])
        answer = call_next(message, context)
        asked = message.metadata.message_type == "query"
        kept = answer if asked else message
        keep("embeddings" if asked else "gradients", number, rank, kept.content["arrays"].to_numpy_ndarrays()[0])
        return answer

    app = ClientApp(mods=[keeping])

    def held(message: Any, context: Any) -> tuple[Job, FloatArray, Dense]:
        job = job_of_client()
        rank = 1 + int(context.node_config["partition-id"])
        cells = job.parties[rank].cells[batches_of(job)[int(message.content["config"]["round"])]]
        if BOTTOM not in context.state:
            rng = np.random.default_rng([job.seed, 3, rank])
            return job, cells, Dense.drawn(cells.shape[1], job.options["outputs"], rng)
        return job, cells, Dense(*context.state[BOTTOM].to_numpy_ndarrays())

    @app.query()  # type: ignore[untyped-decorator]
    def embed(message: Any, context: Any) -> Any:
        _, cells, bottom = held(message, context)
        return Message(RecordDict({"arrays": ArrayRecord([bottom.outputs(cells)])}), reply_to=message)

    @app.train()  # type: ignore[untyped-decorator]
    def learn(message: Any, context: Any) -> Any:
        job, cells, bottom = held(message, context)
        bottom.step(cells, message.content["arrays"].to_numpy_ndarrays()[0], job.options["learning_rate"])
        context.state[BOTTOM] = ArrayRecord([bottom.weight, bottom.bias])
        return Message(RecordDict({"config": ConfigRecord({"done": True})}), reply_to=message)

    return app


if __name__ == "__main__":
    run_inside(main)
