"""The Pareto front as a picture: what each change leaves of the leak, against what the model is worth then."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fedleak.advising.advice import Advice, Point
from fedleak.report.numbers import figure, metric_words
from fedleak.report.pictures import Scale, rect, svg, text
from fedleak.report.read_advice import Advised, AdvisedChange

WIDTH, HEIGHT = 420.0, 260.0
LEFT, RIGHT, TOP, BELOW = 64.0, 16.0, 20.0, 46.0
STYLE = Markup(
    "<style>.frame{fill:none;stroke:#888}.label{font:11px sans-serif;fill:#333}.point{fill:#b33;opacity:.55}"
    ".closes{fill:#186a3b;opacity:.9}.front{fill:none;stroke:#333;stroke-width:1.5}.blind{stroke:#888;"
    "stroke-dasharray:4 3}</style>"
)


def front_file(advice: Advice) -> Markup:
    """One file that needs nothing else."""
    drawn = str(front_picture(advice))
    opened = drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return Markup(opened.replace("</title>", f"</title>{STYLE}", 1))


def front_picture(advice: Advice) -> Markup:
    """For a page that has the style; empty where no model was worth anything that could be measured."""
    if not advice.points or advice.metric is None:
        return Markup("")
    worths = [point.usefulness for point in advice.points] + [advice.baseline] * (advice.baseline is not None)
    known = [worth for worth in worths if worth is not None]
    x = Scale(min(known), max(known), LEFT, WIDTH - RIGHT)
    y = Scale(0.0, 1.0, HEIGHT - BELOW, TOP)
    n_closing = sum(point.closes for point in advice.points)
    title = f"{len(advice.points)} audits of {advice.title}: {n_closing} without a leak"
    return svg("tried", WIDTH, HEIGHT, title, [*_axes(advice, x, y), *_points(advice.points, x, y)])


def _axes(advice: Advice, x: Scale, y: Scale) -> Sequence[Markup]:
    assert advice.metric is not None
    bottom, metric = HEIGHT - BELOW, advice.metric
    parts = [
        rect("frame", LEFT, TOP, WIDTH - LEFT - RIGHT, bottom - TOP),
        text(LEFT, bottom + 16, figure(metric, x.low), "start"),
        text(WIDTH - RIGHT, bottom + 16, figure(metric, x.high), "end"),
        text((LEFT + WIDTH - RIGHT) / 2, bottom + 34, f"{metric_words(metric)} of the model →", "middle"),
        text(LEFT - 6, y(1.0) + 4, "all", "end"),
        text(LEFT - 6, y(0.0) + 4, "no leak", "end"),
        text(LEFT - 6, y(0.5) + 4, "leak left", "end"),
    ]
    if advice.baseline is not None:
        at = x(advice.baseline)
        parts.append(Markup('<path class="blind" d="M{0:.1f} {1:.1f}V{2:.1f}"/>').format(at, TOP, bottom))
        parts.append(text(at, TOP - 6, "blind guess", "start" if at < WIDTH / 2 else "end"))
    return parts


def _points(points: Sequence[Point], x: Scale, y: Scale) -> Sequence[Markup]:
    front = sorted((point for point in points if point.on_front), key=lambda point: point.usefulness)
    path = "L".join(f"{x(point.usefulness):.1f} {y(point.leak):.1f}" for point in front)
    line = [Markup('<path class="front" d="M{}"/>').format(path)] if len(front) > 1 else []
    return line + [
        Markup('<circle class="point{}" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>').format(
            " closes" if point.closes else "", x(point.usefulness), y(point.leak), point.edit or "as it is"
        )
        for point in points
    ]


def advised(advice: Advice) -> Advised:
    """The advice as the page has it."""
    changes = [AdvisedChange(one.change.edit, tuple(one.lines())) for one in advice.remedies]
    return Advised(advice.in_words(), tuple(changes), front_picture(advice), advice.n_audits, advice.notes)
