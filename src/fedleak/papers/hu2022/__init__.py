"""Hu et al. 2022: "Is vertical logistic regression privacy-preserving?" """
