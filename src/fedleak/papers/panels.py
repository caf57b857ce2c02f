"""Panels from the rows of an experiment, one curve a method, and their picture by matplotlib, an optional extra."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedleak.core.errors import InputError, MissingExtraError
from fedleak.papers.experiment import Curve, Panel, Row
from fedleak.storage.file_writing import check_writable, written_whole

DASHED_LABELS = ("guess", "constant", "column mean", "random")
N_COLOURS = 10  # of matplotlib's cycle


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


def panel_by_epoch(rows: Sequence[Row], figure: str, title: str, by: Sequence[str]) -> Panel:
    """One curve for each distinct combination of the settings ``by``."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if figure in row.measured:
            groups.setdefault(", ".join(_shown(key, row.setting.get(key)) for key in by), []).append(row)
    curves = [_curve(group, label, "epoch", figure) for label, group in groups.items()]
    return Panel(title, "epoch", figure.replace("_", " "), curves)


def _shown(key: str, value: object) -> str:
    return "no noise" if key == "epsilon" and value is None else f"ε = {value}" if key == "epsilon" else str(value)


def _curve(rows: Sequence[Row], label: str, x: str, y: str) -> Curve:
    has_band = all(row.measured.get(f"{y}_low") is not None for row in rows)
    return Curve(
        label,
        [_number(row.setting[x]) for row in rows],
        [_number(row.measured[y]) for row in rows],
        [_number(row.measured[f"{y}_low"]) for row in rows] if has_band else None,
        [_number(row.measured[f"{y}_high"]) for row in rows] if has_band else None,
        dashed=any(word in label for word in DASHED_LABELS),
    )


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_picture(path: Path) -> None:
    """Whether a picture can be drawn to that file: asked before the work of hours, not after it."""
    endings = _figure_class()().canvas.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in endings:
        raise InputError(f"--picture must be a file that ends in .svg or .png; got {path}")
    check_writable(path)


def _figure_class() -> type[Figure]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot", "drawing a picture") from error
    return Figure


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Write an SVG or PNG, by the file's ending."""
    n_columns = 2 if len(panels) == 4 else min(len(panels), 3)
    n_rows = -(-len(panels) // n_columns)
    figure = _figure_class()(figsize=(4.5 * n_columns, 3.4 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    lines = {}
    for axis, panel in zip(axes, panels, strict=False):
        for curve in panel.curves:
            colour = f"C{labels.index(curve.label) % N_COLOURS}"  # one method, one colour in all panels
            style = "--" if curve.dashed else "-"
            (lines[curve.label],) = axis.plot(curve.x, curve.y, style, marker=".", color=colour, label=curve.label)
            if curve.low is not None and curve.high is not None:
                axis.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
        axis.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
        if panel.log_x:
            axis.set_xscale("log")
        if panel.log_y:
            axis.set_yscale("log")
    # Below all panels: inside one it would lie on the curves.
    figure.legend([lines[label] for label in labels], labels, loc="outside lower center", ncols=n_columns, fontsize=8)
    with written_whole(path) as temporary:
        figure.savefig(temporary)
