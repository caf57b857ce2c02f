"""Rows from their inner products: the rotation that is left, closed by known cells or knowledge of columns."""
