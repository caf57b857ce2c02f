"""Kernels of the generative regression network: torch is imported when they run."""
