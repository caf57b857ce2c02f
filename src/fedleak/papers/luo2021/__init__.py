"""Luo et al. 2021, "Feature Inference Attack on Model Predictions in Vertical Federated Learning"."""
