"""From a scenario to a federation: with its data, or with empty tables where only theory is asked."""

from __future__ import annotations
