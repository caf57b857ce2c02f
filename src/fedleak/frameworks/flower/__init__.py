"""Flower's FedAvg over clients with rows of their own, recorded by a client mod at every client."""
