"""Intervals that contain a victim's cells."""
