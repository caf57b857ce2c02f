"""Attacks that recover a party's model weights."""
