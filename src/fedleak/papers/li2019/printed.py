"""The paper's own figures."""

from __future__ import annotations

# Table 1: seconds of PuLP's solver on an Intel i5-8500, by (m rows, d columns); None where the paper marks a star,
# which stands for several batches with the same gradient.
TABLE_1: dict[tuple[int, int], float | None] = {
    (3, 5): 0.805,
    (3, 10): 0.795,
    (3, 15): 0.866,
    (3, 20): 0.928,
    (5, 5): 0.812,
    (5, 10): 0.87,
    (5, 15): 1.032,
    (5, 20): 1.517,
    (8, 5): 0.83,
    (8, 10): 7.231,
    (8, 15): 3.751,
    (8, 20): 4.43,
    (9, 5): None,
    (9, 10): 17.659,
    (9, 15): 74.469,
    (9, 20): 89.852,
    (11, 5): None,
    (11, 10): 39.295,
    (11, 15): 665.628,
    (11, 20): 1634.821,
}
