"""Kernels of the posterior attack: each row's equations, linearised or estimated from an ensemble."""
