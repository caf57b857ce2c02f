"""A victim's cells."""
