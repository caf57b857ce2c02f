"""Hidden columns and weights from what a model answers: equations, grids, paths, networks, explanations."""
