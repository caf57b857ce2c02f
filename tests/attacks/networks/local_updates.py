"""Updates as a client of horizontal-network makes them, small ones at random among them, and how far rows are off."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.client_updates import ClientUpdate, summed
from fedleak.attacks.networks.update_factoring import CAUTION, PRECISE
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layers import layer_of_line
from fedleak.models.local_batch import LocalBatch, loss_gradient
from fedleak.models.parameter_steps import ParameterSteps


def network_of(lines, shape, rng, dtype="float64"):
    return initial_network(shape, [layer_of_line(line) for line in lines], "torch", rng, dtype=dtype)


def sent(network, rows, labels, steps, rate):
    """New less old after a step of gradient descent on each of these batches."""
    local, descent = network, ParameterSteps("sgd", rate)
    for held in steps:
        batch = LocalBatch(local, rows[held])
        _, upstream = loss_gradient(batch.outputs, labels[held])
        local = local.with_parameters(descent.step(local.parameters, batch.back(upstream)))
    return {name: local.parameters[name] - network.parameters[name] for name in network.parameter_order}


def update_of(network, rows, labels, steps, rate):
    made = sent(network, rows, labels, steps, rate)
    return ClientUpdate(0, network, *summed(network, made, rate, len(steps)), rate, len(steps), len(steps[0]), None)


def random_update(seed):
    """An update, the rows behind it and their labels."""
    rng = np.random.default_rng([seed, 1])
    size, n_steps, kinked = int(rng.integers(1, 5)), int(rng.integers(1, 5)), bool(rng.integers(2))
    apart = bool(rng.integers(2)) and size * n_steps <= 8
    n_rows, width, n_classes = size * n_steps if apart else size, int(rng.integers(9, 16)), int(rng.integers(2, 5))
    how = "relu" if kinked else str(rng.choice(["sigmoid", "tanh"]))
    hidden = 120 if kinked else int(rng.integers(20, 40))
    later = (f"linear {12}", f"activation {how}") if rng.integers(2) else ()
    lines = (f"linear {hidden}", f"activation {how}", *later, f"linear {n_classes}")
    network = network_of(lines, (width,), rng, str(rng.choice(["float32", "float64"])))
    rows = rng.random((n_rows, width)) if rng.integers(2) else rng.standard_normal((n_rows, width))
    labels = rng.integers(0, n_classes, n_rows)
    steps = list(rng.permutation(n_rows).reshape(n_steps, size)) if apart else [np.arange(n_rows)] * n_steps
    rate = float(rng.choice([0.05, 0.2, 1.0]))
    return update_of(network, rows, labels, steps, rate), rows, labels


def recovered(solved):
    return not solved.why and bool((solved.error * CAUTION <= PRECISE).all())


def off(solved, rows, labels):
    """The worst row's error, of the spread of all, and whether all labels are right; in the order that fits best."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    mine, theirs = linear_sum_assignment(cdist(solved.found.rows, rows))
    spread = (rows - rows.mean(axis=0) if len(rows) > 1 else rows).std()
    far = np.sqrt(((solved.found.rows[mine] - rows[theirs]) ** 2).mean(axis=1)).max() / spread
    return far, bool((solved.labels[mine] == labels[theirs]).all())
