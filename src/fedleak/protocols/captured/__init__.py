"""Runs that took place elsewhere: a capture is replayed, and what it reveals is inferred from what it holds."""
