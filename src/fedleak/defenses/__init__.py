"""Defenses, one a file."""
