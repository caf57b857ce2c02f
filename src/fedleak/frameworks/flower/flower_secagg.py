"""The same clients under Flower's SecAgg+: its workflow at the server, its mod at every client, ours around it.

The mod of ours that stands before it sees what leaves the client, under masks; the one behind it what the client makes.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from fedleak.frameworks.averaged_clients import after_own_step, job_of_client, keep
from fedleak.frameworks.job import Job

CLIPPING, LEVELS = 8.0, 1 << 22  # SecAgg+'s own: weights within ±8, in so many steps
ROUND = "server-round"


def server_app(job: Job) -> Any:
    from flwr.common import ndarrays_to_parameters
    from flwr.server import LegacyContext, ServerApp, ServerConfig
    from flwr.server.strategy import FedAvg
    from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow

    app = ServerApp()

    def told(number: int, arrays: list[Any], _config: Any) -> None:
        if number == job.options["rounds"]:
            np.save(job.folder / "model-last.npy", arrays[0])

    @app.main()  # type: ignore[untyped-decorator]
    def serve(grid: Any, context: Any) -> None:
        n = len(job.parties)
        rng = np.random.default_rng(job.seed)
        strategy = FedAvg(
            fraction_evaluate=0.0,
            min_fit_clients=n,
            min_available_clients=n,
            initial_parameters=ndarrays_to_parameters([0.1 * rng.standard_normal(len(job.parties[0].columns))]),
            on_fit_config_fn=lambda number: {ROUND: number},
            evaluate_fn=told,
        )
        config = ServerConfig(num_rounds=job.options["rounds"])
        secure = SecAggPlusWorkflow(
            num_shares=n,
            reconstruction_threshold=n - 1,
            max_weight=job.options["max_weight"],
            clipping_range=CLIPPING,
            quantization_range=LEVELS,
        )
        DefaultWorkflow(fit_workflow=secure)(grid, LegacyContext(context=context, config=config, strategy=strategy))

    return app


def client_app() -> Any:
    from flwr.client import NumPyClient
    from flwr.client.mod import secaggplus_mod
    from flwr.clientapp import ClientApp
    from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key

    def keeping_masked(message: Any, context: Any, call_next: Any) -> Any:
        """The recording point of what leaves: weight and weighted parameters, under masks."""
        fit = message.content.config_records.get("fitins.config", {})
        answer = call_next(message, context)
        told = answer.content.config_records[RECORD_KEY_CONFIGS]
        if Key.MASKED_PARAMETERS in told:
            vectors = [np.load(BytesIO(part), allow_pickle=False) for part in told[Key.MASKED_PARAMETERS]]
            rank = int(context.node_config["partition-id"])
            keep("masked", int(fit[ROUND]) - 1, rank, np.concatenate([one.ravel() for one in vectors]))
        return answer

    class Client(NumPyClient):  # type: ignore[misc]
        def __init__(self, rank: int) -> None:
            self.rank = rank

        def fit(self, parameters: list[Any], config: dict[str, Any]) -> tuple[list[Any], int, dict[str, Any]]:
            job, number = job_of_client(), int(config[ROUND]) - 1
            stepped = after_own_step(job, self.rank, number, parameters[0])
            keep("model", number, self.rank, parameters[0])
            keep("sent", number, self.rank, stepped)
            return [stepped], len(job.parties[self.rank].ids), {}

    def client_fn(context: Any) -> Any:
        return Client(int(context.node_config["partition-id"])).to_client()

    return ClientApp(client_fn=client_fn, mods=[keeping_masked, secaggplus_mod])
