"""NVFLARE: FedAvg in its simulator, recorded by filters."""
