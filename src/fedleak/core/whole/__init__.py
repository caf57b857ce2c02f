"""TODO: what whole holds."""
