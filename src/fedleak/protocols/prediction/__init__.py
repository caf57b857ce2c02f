"""A trained model is served to a party."""
