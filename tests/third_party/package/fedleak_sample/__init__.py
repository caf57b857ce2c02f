"""Imports nothing: the process of the attack must not load what the defense needs."""
