"""Theorems and bounds, one a file, with their preconditions checked."""
