"""Kernels of the posterior attack: networks by a regression on own columns, black boxes by an ensemble."""
