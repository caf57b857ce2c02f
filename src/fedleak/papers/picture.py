"""Draw an experiment's panels with matplotlib, an optional extra."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedleak.core.errors import InputError, MissingExtraError
from fedleak.papers.experiment import Panel
from fedleak.report.files import check_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_COLOURS = 10  # of matplotlib's cycle


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
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.partial{path.suffix}")
    figure.savefig(temporary)
    temporary.replace(path)
