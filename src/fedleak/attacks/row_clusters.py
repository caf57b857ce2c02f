"""Rows parted into classes without names: k-means, and spectral clustering of a graph of links."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray

N_STARTS = 10  # of k-means
N_MOVES = 100


def spectral_classes(links: FloatArray, n_classes: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Ng, Jordan and Weiss 2002 on the graph links links^T: the class of each row, and how sure it is."""
    degrees = np.maximum(links @ links.sum(axis=0), 1e-12)
    vectors, _, _ = np.linalg.svd(links / np.sqrt(degrees)[:, None], full_matrices=False)
    rows = vectors[:, :n_classes]
    classes, distances = k_means(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), n_classes, rng)
    return classes, sureness(distances)


def sureness(distances: FloatArray) -> FloatArray:
    """By distances from all centres: 1/2 halfway between the two nearest, 1 at one of them."""
    nearest = np.sort(distances, axis=1)
    confidence = nearest[:, 1] / np.maximum(nearest[:, 0] + nearest[:, 1], 1e-12)
    return np.asarray(np.clip(confidence, 0.5, 1.0))


def k_means(rows: FloatArray, n_classes: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """The tightest of several starts: the class of each row, and its distance from every centre."""
    runs = [_one_start(rows, n_classes, rng) for _ in range(N_STARTS)]
    best = min(runs, key=lambda distances: float((distances.min(axis=1) ** 2).sum()))
    return np.argmin(best, axis=1), best


def _one_start(rows: FloatArray, n_classes: int, rng: np.random.Generator) -> FloatArray:
    """Centres are drawn far from one another (k-means++), then moved to the means of their rows."""
    centres = rows[[int(rng.integers(len(rows)))]]
    while len(centres) < n_classes:
        weights = (_distances(rows, centres).min(axis=1) ** 2) + 1e-12
        centres = np.vstack([centres, rows[[int(rng.choice(len(rows), p=weights / weights.sum()))]]])
    for _ in range(N_MOVES):
        classes = np.argmin(_distances(rows, centres), axis=1)
        moved = [rows[classes == k].mean(axis=0) if (classes == k).any() else centres[k] for k in range(n_classes)]
        if np.array_equal(moved, centres):
            break
        centres = np.array(moved)
    return _distances(rows, centres)


def _distances(rows: FloatArray, centres: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(rows[:, None, :] - centres[None], axis=2))
