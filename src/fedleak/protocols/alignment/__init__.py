"""Which people parties have in common, before they train together."""
