"""One file a paper: its grids, its figures, its experiments."""
