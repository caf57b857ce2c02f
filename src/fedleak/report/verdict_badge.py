"""The verdict as a small picture for a README."""

from __future__ import annotations

import re

from markupsafe import escape

from fedleak.core.conclusion import Level
from fedleak.core.finding import Severity
from fedleak.core.report import Report
from fedleak.report.verdict import UNMEASURED, statement

LEFT = "fedleak"
COLOURS = {Severity.HIGH: "#b3261e", Severity.MEDIUM: "#8a4b00", Severity.LOW: "#6b5900", Severity.NONE: "#b3261e"}
NO_LEAK, OPEN = "#1b6b3a", "#545c69"  # white on each has a contrast of at least 4.5
CHARACTER, SIDE = 7, 10  # pixels of a letter and beside a text, at 11 pixels of type


def badge(report: Report) -> str:
    """An SVG. Never a word like safe: at best nothing was found."""
    words, colour = _right(report)
    left, right = (2 * SIDE + CHARACTER * len(text) for text in (LEFT, words))
    width = left + right
    told = escape(f"{LEFT}: {words}")
    return _TEMPLATE.format(
        width=width, left=left, right=right, colour=colour, told=told,
        first=escape(LEFT), second=escape(words), x_first=left / 2, x_second=left + right / 2,
    )  # fmt: skip


def _right(report: Report) -> tuple[str, str]:
    match report.conclusion.level:
        case Level.LEAK:
            return f"leak: {report.worst.label}", COLOURS[report.worst]
        case Level.NO_LEAK:
            return "no leak found", OPEN if statement(report).tone == UNMEASURED else NO_LEAK
    return "inconclusive", OPEN


_TEMPLATE = (
    re.sub(
        r"\n\s*",
        "",
        """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{told}">
    <title>{told}</title>
    <rect width="{left}" height="20" fill="#333a46"/>
    <rect x="{left}" width="{right}" height="20" fill="{colour}"/>
    <g fill="#ffffff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="{x_first}" y="14">{first}</text><text x="{x_second}" y="14">{second}</text></g></svg>""",
    )
    + "\n"
)
