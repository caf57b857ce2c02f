"""What the field of a dataclass means and what it may hold, beside its type: reference pages and readers go by it."""

from __future__ import annotations

from collections.abc import Mapping


def meaning(
    about: str,
    *,
    unit: str = "",
    choices: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
) -> Mapping[str, object]:
    """The metadata of a field; ``least`` and ``most`` bound a number, ``least`` also the length of a list."""
    return {"about": about, "unit": unit, "choices": choices, "least": least, "most": most}
