"""The whole of a run: federation, protocol, hooks, truth. Attacks may not import anything of this package."""
