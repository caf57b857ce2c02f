"""Other people's frameworks."""
