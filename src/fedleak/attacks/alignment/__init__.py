"""Attacks on the alignment of identifiers: whom a partner has."""
