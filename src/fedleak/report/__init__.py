"""A report as terminal table, JSON and HTML."""
