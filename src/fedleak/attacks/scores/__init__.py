"""Attacks that recover a party's partial scores."""
