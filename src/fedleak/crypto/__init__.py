"""Real and ideal ciphers over one fixed-point arithmetic."""
