"""A split network in numpy, as small as it gets: linear bottoms, a top with one hidden layer, plain gradient steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray


@dataclass(eq=False)
class Dense:
    """outputs = inputs W + b."""

    weight: FloatArray
    bias: FloatArray

    @classmethod
    def drawn(cls, n_inputs: int, n_outputs: int, rng: np.random.Generator) -> Dense:
        bound = 1.0 / np.sqrt(max(1, n_inputs))
        return cls(rng.uniform(-bound, bound, (n_inputs, n_outputs)), rng.uniform(-bound, bound, n_outputs))

    def outputs(self, inputs: FloatArray) -> FloatArray:
        return np.asarray(inputs @ self.weight + self.bias)

    def step(self, inputs: FloatArray, gradient: FloatArray, rate: float) -> FloatArray:
        """Takes the step, and tells the gradient by the inputs as it was before."""
        below = gradient @ self.weight.T
        self.weight = self.weight - rate * inputs.T @ gradient
        self.bias = self.bias - rate * gradient.sum(axis=0)
        return np.asarray(below)


@dataclass(eq=False)
class Top:
    """A tanh layer and a score a class, trained on the mean cross entropy of a batch."""

    first: Dense
    last: Dense

    @classmethod
    def drawn(cls, n_inputs: int, n_hidden: int, n_classes: int, rng: np.random.Generator) -> Top:
        return cls(Dense.drawn(n_inputs, n_hidden, rng), Dense.drawn(n_hidden, n_classes, rng))

    def step(self, embeddings: FloatArray, labels: IntArray, rate: float) -> FloatArray:
        """The gradient of the mean loss by the embeddings, which goes back to whom they came from."""
        hidden = np.tanh(self.first.outputs(embeddings))
        scores = self.last.outputs(hidden)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chances[np.arange(len(labels)), labels] -= 1.0
        back = self.last.step(hidden, chances / len(labels), rate)
        return self.first.step(embeddings, back * (1.0 - hidden**2), rate)
