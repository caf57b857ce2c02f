"""A protocol as somebody else would add one: this folder, and an entry in the list."""
