"""Theorems of Li et al. 2021 on inverting linear and logistic regression, with what they leave open."""
