"""Vertical gradient-boosted trees."""
