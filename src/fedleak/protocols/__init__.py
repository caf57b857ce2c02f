"""Federated protocols, one a file."""
