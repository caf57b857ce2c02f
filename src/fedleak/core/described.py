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
    tells_less: str = "",
    ideal: tuple[str, ...] = (),
) -> Mapping[str, object]:
    """The metadata of a field; ``least`` and ``most`` bound a number, ``least`` also the length of a list.

    ``tells_less`` is for whoever looks for a change that closes a leak: which way may tell less (more, fewer; other for
    choices), empty where it is not worth trying. ``ideal`` names choices that exist as ideal functionality alone.
    """
    bounds = {"least": least, "most": most}
    return {"about": about, "unit": unit, "choices": choices, **bounds, "tells_less": tells_less, "ideal": ideal}
