"""Partial rotations: orthonormal vectors whose images are already known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Frame:
    """``sources`` and ``images`` are orthonormal columns, (n, solved): R maps each source to its image."""

    sources: FloatArray
    images: FloatArray

    @classmethod
    def empty(cls, width: int) -> Frame:
        return cls(np.zeros((width, 0)), np.zeros((width, 0)))

    @property
    def width(self) -> int:
        return int(self.sources.shape[0])

    @property
    def solved(self) -> int:
        return int(self.sources.shape[1])

    @property
    def n_open(self) -> int:
        return self.width - self.solved

    def complement(self) -> FloatArray:
        """An orthonormal basis of what the images leave open, (n, n - solved)."""
        if self.solved == 0:
            return np.eye(self.width)
        whole, _ = np.linalg.qr(self.images, mode="complete")
        return np.asarray(whole[:, self.solved :])

    def split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """A source vector as (known part of its image, unit vector outside the frame, its length there)."""
        along = self.sources.T @ vector
        outside = vector - self.sources @ along
        outside = outside - self.sources @ (self.sources.T @ outside)  # once more: keeps the frame orthonormal
        length = float(np.linalg.norm(outside))
        unit = outside / length if length > 0 else outside
        return self.images @ along, unit, length

    def extended(self, source: FloatArray, image: FloatArray) -> Frame:
        """With one more unit vector and its unit image, both orthogonal to the frame."""
        image = image - self.images @ (self.images.T @ image)
        image = image / np.linalg.norm(image)
        return Frame(np.column_stack([self.sources, source]), np.column_stack([self.images, image]))

    def rotation(self) -> FloatArray:
        """R with R^T source = image; what the frame leaves open is mapped in any orthogonal way."""
        found = self.sources @ self.images.T
        if self.n_open:
            whole, _ = np.linalg.qr(self.sources, mode="complete")
            found = found + whole[:, self.solved :] @ self.complement().T
        return np.asarray(found)
