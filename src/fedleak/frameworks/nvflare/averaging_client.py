"""The training script of an NVFLARE site: one step on the mean loss of its own rows, as often as the server asks."""

from __future__ import annotations

import numpy as np
import nvflare.client as flare

from fedleak.frameworks.averaged_clients import after_own_step, job_of_client
from fedleak.frameworks.nvflare.keeping_filter import WEIGHTS


def main() -> None:
    flare.init()
    job = job_of_client()
    rank = [party.name for party in job.parties].index(flare.get_site_name())
    while flare.is_running():
        received = flare.receive()
        if received is None:
            break
        weights = np.asarray(received.params[WEIGHTS], dtype=np.float64)
        stepped = after_own_step(job, rank, int(received.current_round), weights)
        counted = {"NUM_STEPS_CURRENT_ROUND": len(job.parties[rank].ids)}  # by which FedAvg weighs
        flare.send(flare.FLModel(params={WEIGHTS: stepped}, meta=counted))


if __name__ == "__main__":
    main()
