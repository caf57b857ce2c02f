"""Li et al. 2019, Quantification of the leakage in federated learning."""
