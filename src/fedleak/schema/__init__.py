"""One engine for every format: TOML in, JSON both ways, the headers and lines of stored folders, reference pages.

Frozen dataclasses are the schema: their annotations say what a value must be, the metadata of their fields
(``about``, ``unit``, ``choices``, ``least``, ``most``) what it means and what it may be.
"""
