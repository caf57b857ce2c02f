"""Shared by all tests: one Hypothesis profile."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("fedleak", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fedleak")
