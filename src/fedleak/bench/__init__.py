"""Ratios, both sides measured in one run."""
