"""Theorems of Hu et al. 2022 on vertical logistic regression."""
