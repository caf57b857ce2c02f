"""A federation that leaks and is audited in a second."""

from __future__ import annotations

from scenarios import changed

TINY = changed(
    ("max_rows = 100", "max_rows = 60"),
    ("epochs = 4", "epochs = 2"),
    ("""[[adversary]]
parties = ["bank"]
""", ""),
)  # fmt: skip
