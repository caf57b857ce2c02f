"""Interpreters of a ModelSpec."""
