"""Kernels of the equality-solving attacks."""
