"""Steps of stochastic gradient descent and of Adam on parameters by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import InputError

OPTIMISERS = ("sgd", "adam")
MEAN_DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8  # of Adam (Kingma and Ba 2015)


class ParameterSteps:
    """Keeps what the optimiser remembers; the precision of parameters stays as it is."""

    def __init__(self, optimiser: str, rate: float) -> None:
        if optimiser not in OPTIMISERS:
            raise InputError(f"optimiser must be one of {', '.join(OPTIMISERS)}; got {optimiser!r}")
        self._adam = optimiser == "adam"
        self._rate = rate
        self._n_steps = 0
        self._means: dict[str, AnyArray] = {}
        self._squares: dict[str, AnyArray] = {}

    def step(self, parameters: Mapping[str, AnyArray], gradients: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """New values of the parameters that have a gradient; the others are not among them."""
        self._n_steps += 1
        changes = {name: self._change(name, gradient) for name, gradient in gradients.items()}
        return {
            name: (parameters[name] - self._rate * change).astype(parameters[name].dtype)
            for name, change in changes.items()
        }

    def _change(self, name: str, gradient: AnyArray) -> AnyArray:
        if not self._adam:
            return gradient
        mean = MEAN_DECAY * self._means.get(name, 0.0) + (1 - MEAN_DECAY) * gradient
        square = SQUARE_DECAY * self._squares.get(name, 0.0) + (1 - SQUARE_DECAY) * np.square(gradient)
        self._means[name], self._squares[name] = mean, square
        mean = mean / (1 - MEAN_DECAY**self._n_steps)
        return np.asarray(mean / (np.sqrt(square / (1 - SQUARE_DECAY**self._n_steps)) + TINY))
