"""TODO: what arbiter holds."""
