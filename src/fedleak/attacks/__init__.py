"""Attacks, one a file, in folders by what is recovered."""
