"""Jin et al. 2021, "CAFE: Catastrophic Data Leakage in Vertical Federated Learning": section 4."""
