"""Li et al. 2021, "Privacy Threats Analysis to Secure Federated Learning": sections 4 and 6.2."""
