"""Vertical linear models: parties hold different columns of the same rows and train together."""
