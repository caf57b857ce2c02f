"""FATE's hetero linear models, with an arbiter: its parties on this machine, recorded where they push messages."""
