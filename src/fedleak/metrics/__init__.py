"""Scores of a guess against the truth, one metric a file."""
