"""Theorems of Li et al. 2019 on horizontal training, and what they leave out."""
