"""Runs in NVFLARE's own environment: FedAvg in its simulator, with a filter at every site that keeps what passes."""

from __future__ import annotations

import os

import numpy as np

from fedleak.frameworks.averaged_clients import FOLDER, MODELS
from fedleak.frameworks.averaged_record import record_averaging
from fedleak.frameworks.flower.flower_steps import FRACTION_BITS
from fedleak.frameworks.job import Job, check_version, run_inside
from fedleak.frameworks.nvflare.code_of_sites import sent_along


def main(job: Job) -> None:
    from importlib.metadata import version

    check_version(job, version("nvflare"), "NVFLARE")
    if job.options["model"] not in MODELS:
        raise ValueError(f"model must be {' or '.join(MODELS)}; got {job.options['model']!r}")
    os.environ[FOLDER] = str(job.folder)
    _simulate(job)
    precision = {"score_noise": 0.0, "fraction_bits": FRACTION_BITS}
    record_averaging(job, f"nvflare {job.version}", precision)


def _simulate(job: Job) -> None:
    from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
    from nvflare.recipe.sim_env import SimEnv

    client, keeping = sent_along(job.folder / "code", "averaging_client", "keeping_filter")
    first = 0.1 * np.random.default_rng(job.seed).standard_normal(len(job.parties[0].columns))
    recipe = NumpyFedAvgRecipe(
        name="capture",
        model=first,
        min_clients=len(job.parties),
        num_rounds=job.options["rounds"],
        train_script=client.__file__,
    )
    recipe.add_client_input_filter(keeping.KeepingFilter("model"), tasks=["train"])
    recipe.add_client_output_filter(keeping.KeepingFilter("sent"), tasks=["train"])
    workspace = job.folder / "nvflare"
    recipe.execute(SimEnv(clients=[party.name for party in job.parties], workspace_root=str(workspace)))
    (last,) = workspace.rglob("server.npy")
    np.save(job.folder / "model-last.npy", np.load(last))


if __name__ == "__main__":
    run_inside(main)
