"""The labels."""
