"""TODO: what predictions holds."""
