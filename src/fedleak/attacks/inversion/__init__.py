"""From inner products to the rows themselves: the rotation that a Gram matrix leaves open, and what closes it."""
