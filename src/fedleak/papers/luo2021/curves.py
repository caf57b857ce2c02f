"""Panels from rows: one a data set (or model), one curve a method."""

from __future__ import annotations

from collections.abc import Sequence

from fedleak.papers.experiment import Curve, Panel, Row

REFERENCES = ("guess", "constant", "column mean", "random")


def panels_by(
    rows: Sequence[Row], panel: str, x: str, curve: str, y: str, *, y_label: str, x_label: str = ""
) -> tuple[Panel, ...]:
    """``panel``, ``x`` and ``curve`` are keys of the settings, ``y`` is a measured figure."""
    titles = list(dict.fromkeys(str(row.setting[panel]) for row in rows))
    found = []
    for title in titles:
        mine = [row for row in rows if str(row.setting[panel]) == title and row.measured.get(y) is not None]
        labels = list(dict.fromkeys(str(row.setting[curve]) for row in mine))
        curves = [_curve([row for row in mine if str(row.setting[curve]) == label], label, x, y) for label in labels]
        found.append(Panel(title, x_label or x, y_label, curves))
    return tuple(found)


def _curve(rows: Sequence[Row], label: str, x: str, y: str) -> Curve:
    has_band = all(row.measured.get(f"{y}_low") is not None for row in rows)
    return Curve(
        label,
        [_number(row.setting[x]) for row in rows],
        [_number(row.measured[y]) for row in rows],
        [_number(row.measured[f"{y}_low"]) for row in rows] if has_band else None,
        [_number(row.measured[f"{y}_high"]) for row in rows] if has_band else None,
        dashed=any(word in label for word in REFERENCES),
    )


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
