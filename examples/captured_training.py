"""A training loop of your own, captured: vertical logistic regression of a bank (labels) and a fintech, in plain numpy.

As a framework would, the parties exchange scores and residuals under additively homomorphic encryption and see their
own gradients alone. The lines with ``recorder`` are all that an audit needs.

    python examples/captured_training.py capture truth
    fedleak audit --transcript capture                  # claims, and what the transcript itself proves
    fedleak audit --transcript capture --truth truth    # the same, checked
"""

from __future__ import annotations

import secrets
import sys

import numpy as np

from fedleak.recorder import EVERYONE, Ciphertexts, Recorder

BATCH, EPOCHS, RATE = 8, 4, 0.05


def encrypted(values: np.ndarray) -> Ciphertexts:
    """Stands for the framework's encryption: nobody without the key can tell these from random numbers."""
    return Ciphertexts([secrets.randbits(2048) for _ in values], key="bank's key", fraction_bits=40)


def train(capture: str, truth: str) -> float:
    rng = np.random.default_rng(7)
    ids, order = np.arange(1000, 1096), rng.permutation(96)
    table = rng.standard_normal((96, 15))
    table /= np.linalg.norm(table, axis=1).max()
    bank, fintech = table[:, :3], table[:, 3:]
    labels = (table @ rng.standard_normal(15) > 0).astype(int)
    theta_bank, theta_fintech = np.zeros(3), np.zeros(12)

    facts = {"learning_rate": RATE, "batch_size": BATCH, "n_epochs": EPOCHS, "initialisation": "zero"}
    facts |= {"approximation": "taylor", "max_row_norm": 1.0, "score_noise": 0.0}
    with Recorder(capture, {"bank": "active", "fintech": "passive"}, truth=truth, overwrite=True, **facts) as recorder:
        recorder.record("fintech", "features", fintech, ids=ids)
        recorder.record("fintech", "weights", theta_fintech)
        recorder.truth("bank", bank, ids=ids, labels=labels)
        recorder.truth("fintech", fintech, ids=ids)
        for number in range(EPOCHS * 96 // BATCH):
            batch = np.roll(order, -number * BATCH)[:BATCH]
            scores = bank[batch] @ theta_bank + fintech[batch] @ theta_fintech
            residuals = scores / 4 - (2 * labels[batch] - 1) / 2  # the sigmoid's Taylor polynomial, as encryption needs
            theta_bank = theta_bank - RATE * bank[batch].T @ residuals / BATCH
            gradient = fintech[batch].T @ residuals / BATCH  # what the fintech decrypts in the end
            theta_fintech = theta_fintech - RATE * gradient
            recorder.message("train.batch", "bank", EVERYONE, ids[batch], round=number)
            recorder.message("train.encrypted-residual", "bank", "fintech", encrypted(residuals), round=number)
            recorder.record("fintech", "gradient", gradient, round=number)
            recorder.record("fintech", "weights", theta_fintech, round=number)
    return float(np.mean((bank @ theta_bank + fintech @ theta_fintech > 0) == (labels == 1)))


if __name__ == "__main__":
    print(f"training accuracy {train(*(sys.argv[1:3] or ('capture', 'truth'))):.2f}")
