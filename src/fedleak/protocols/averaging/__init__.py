"""Parties hold different rows of the same columns."""
