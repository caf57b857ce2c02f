"""Parties hold different columns of the same rows."""
