"""Draw an experiment's panels with matplotlib, an optional extra."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedleak.core.errors import MissingExtraError
from fedleak.papers.experiment import Panel

N_COLOURS = 10  # of matplotlib's cycle


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Write an SVG or PNG, by the file's ending."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot", "drawing a picture") from error
    n_columns = 2 if len(panels) == 4 else min(len(panels), 3)
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(4.5 * n_columns, 3.4 * n_rows), layout="constrained")
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
    temporary = path.with_name(f".{path.stem}.partial{path.suffix}")
    figure.savefig(temporary)
    temporary.replace(path)
