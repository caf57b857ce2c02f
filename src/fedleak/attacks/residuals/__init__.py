"""TODO: what residuals holds."""
