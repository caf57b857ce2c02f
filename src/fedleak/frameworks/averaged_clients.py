"""What clients that average models compute here, whatever carries it: one step on the mean loss of their own rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.frameworks.job import Held, Job, read_job

FOLDER = "FEDLEAK_JOB"  # the environment variable by which clients in other processes find their rows
MODELS = ("linear", "logistic")


def job_of_client() -> Job:
    return read_job(Path(os.environ[FOLDER]))


def keep(name: str, number: int, rank: int, values: Any) -> None:
    """What passed a client in a round, for the recording afterwards."""
    np.save(Path(os.environ[FOLDER]) / f"{name}-{number}-{rank}.npy", np.asarray(values))


def after_own_step(job: Job, rank: int, number: int, weights: FloatArray) -> FloatArray:
    gradient = _mean_gradient(job.parties[rank], weights, _batch(job, rank, number), job.options["model"])
    return np.asarray(weights - job.options["learning_rate"] * gradient)


def _batch(job: Job, rank: int, number: int) -> Any:
    """The first client takes a few of its rows, others in every round; all others take all of theirs."""
    if rank:
        return slice(None)
    n_rows = len(job.parties[0].ids)
    rng = np.random.default_rng([job.seed, number])
    return rng.permutation(n_rows)[: max(1, min(n_rows, job.options["curious_batch"]))]


def _mean_gradient(own: Held, weights: FloatArray, batch: Any, model: str) -> FloatArray:
    """Of (θx - y)² / 2 with labels -1 and 1, or of the logistic loss with its exact sigmoid."""
    rows, signs = own.cells[batch], 2.0 * np.asarray(own.labels)[batch] - 1.0
    scores = rows @ weights
    errors = scores - signs if model == "linear" else 1.0 / (1.0 + np.exp(-scores)) - (signs + 1.0) / 2.0
    return np.asarray(rows.T @ errors / len(rows))
