"""Gradient boosting by histograms in exact integers: bins, losses, growth of a tree over several owners of columns."""
