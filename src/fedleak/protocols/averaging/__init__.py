"""Horizontal training: parties hold different rows of the same columns, and a server averages."""
