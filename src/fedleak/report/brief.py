"""The verdict on one screen: who learns what about whom, how sure that is, what to change. The page has the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedleak.core.conclusion import Level
from fedleak.core.finding import Finding, Mode
from fedleak.core.report import Report
from fedleak.core.visible_text import visible
from fedleak.report.cases import worst_leak
from fedleak.report.defense_effect import effects
from fedleak.report.matrix import answers
from fedleak.report.numbers import count, figure, metric_words, percent
from fedleak.report.sureness import sure_in_short
from fedleak.report.terminal import SEVERITY_STYLES, STYLES, TONE_STYLES
from fedleak.report.verdict import ADVISE, Statement, statement
from fedleak.report.wording import (
    beyond_luck_words,
    columns_words,
    is_captured,
    outcome_words,
    owned_plainly,
    share_learned,
    who,
)

MOST_LINES = 20  # of a screen of 25, five are for where the files are
MOST_ROWS = 7
MOST_WIDE = 110
WHO_WIDE, ABOUT_WIDE = 22, 30  # of 80 columns; longer names go on in the next line, none is cut
MOST_MISSING = 2


def print_brief(report: Report, console: Console) -> None:
    """What stands first is always there; of the rest as much as a screen holds, and a word where more was left out."""
    top, width = statement(report), min(console.width, MOST_WIDE)
    first = _first(report, top, console, width)
    left = MOST_LINES - sum(_n_lines(part, console, width) for part in first) - 1
    shown, n_cut = first, 0
    for part in _rest(top):
        n_lines = _n_lines(part, console, width)
        if n_lines <= left:
            left -= n_lines
            shown.append(part)
        else:
            n_cut += 1
    more = " and what else was found" if n_cut else ""
    for part in (*shown, Text(f"Every attack{more}: in the page, or with --verbose.", style="dim")):
        console.print(part, width=width)


def _first(report: Report, top: Statement, console: Console, width: int) -> list[RenderableType]:
    """With as many lines of the matrix as there is room for, and one at least."""
    rows = answers(report.findings)
    around = [*_open_questions(top), *_smaller(report), *_change(report, top)]
    for n_rows in range(min(MOST_ROWS, len(rows)), 0, -1):
        found = [*_headline(top), *_sure(report), *_matrix(rows, n_rows), *around]
        if n_rows == 1 or sum(_n_lines(part, console, width) for part in found) < MOST_LINES:
            return found
    return [*_headline(top), *around]


def _n_lines(part: RenderableType, console: Console, width: int) -> int:
    return len(console.render_lines(part, console.options.update(width=width), pad=False))


def _headline(top: Statement) -> Iterator[RenderableType]:
    yield Text.assemble((f"{top.level}: ", TONE_STYLES[top.tone]), (visible(top.headline), "bold"))
    if top.meaning:
        yield Text(visible(top.meaning))


def _sure(report: Report) -> Iterator[RenderableType]:
    worst = worst_leak(report.findings)
    if worst is not None and report.conclusion.level is Level.LEAK:
        yield Text(visible(sure_in_short(worst, report.repeats)))


def _matrix(rows: Sequence[Finding], n_rows: int) -> Iterator[RenderableType]:
    """A line for each adversary and secret, the gravest first; without a defense, which has its own words below."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title, most in (("who", WHO_WIDE), ("about", ABOUT_WIDE), ("finds", None)):
        table.add_column(Text(title, style="dim"), overflow="fold", max_width=most)
    for finding in rows[:n_rows]:
        by = who(finding.adversary) + (", breaking the rules" if finding.mode is Mode.ACTIVE else "")
        table.add_row(Text(visible(by)), Text(visible(owned_plainly(finding.secret))), _found(finding))
    yield Padding(table, (1, 0, 0, 0))
    if len(rows) > n_rows:
        yield Text(f"and {count(len(rows) - n_rows, 'question')} more, none of them graver", style="dim")


def _found(finding: Finding) -> Text:
    if not finding.is_shown:
        return Text(outcome_words(finding), style=STYLES[finding.outcome])
    grade = Text(f"{finding.severity.label}: ", style=SEVERITY_STYLES[finding.severity])
    return Text.assemble(
        grade, visible("; ".join(words for words in (_amount(finding), columns_words(finding)) if words))
    )


def _amount(finding: Finding) -> str:
    if finding.is_proved:
        return "proved by the transcript alone"
    share, score = share_learned(finding), finding.score
    if share is not None:
        return f"{percent(share)} recovered"
    if score is None:
        return outcome_words(finding)
    if words := beyond_luck_words(finding):
        return words
    value, blind = figure(score.metric, score.value), figure(score.metric, score.baseline)
    return f"{metric_words(score.metric)} {value} ({blind} blind)"


def _open_questions(top: Statement) -> Iterator[RenderableType]:
    """All of them where they are why nothing is concluded; beside a leak their number does."""
    if not top.missing:
        return
    if top.in_a_word is Level.LEAK:
        yield Text(f"Not settled: {count(len(top.missing), 'further question')}.", style="yellow")
        return
    for line in top.missing[:MOST_MISSING]:
        yield Text(visible(f"Missing: {line}"))
    if len(top.missing) > MOST_MISSING:
        yield Text(f"Missing: {count(len(top.missing) - MOST_MISSING, 'further answer')}.")


def _smaller(report: Report) -> Iterator[RenderableType]:
    """What was audited in place of what was asked for; what follows from it stands in the page."""
    if report.reduced:
        yield Text(visible(f"Smaller: {report.reduced[0].partition(':')[0]}."), style="yellow")


def _change(report: Report, top: Statement) -> Iterator[RenderableType]:
    """Three lines at most: what was seen to close every leak, or that nothing was, and who looks further."""
    if top.in_a_word is not Level.LEAK:
        return
    if is_captured(report):
        yield Text.assemble(("Change: ", "bold"), "the federation, capture it again, and audit that: this run is over.")
        return
    for clause in islice((visible(words) for words in _tried(report)), 2):
        yield Text.assemble(("Change: ", "bold"), clause)
    yield Text(f"{ADVISE} searches for what closes every leak, and tries it.")


def _tried(report: Report) -> Iterator[str]:
    """Defenses under which no leak is left and the model is worth something, the cheapest first; or the best of the
    others, with what it leaves."""
    tried = [effect for effect in effects(report) if effect.n_tried]
    closing = [effect for effect in tried if effect.closes]
    for effect in sorted(closing, key=lambda one: one.utility.loss if one.utility else 0.0):
        cost = "" if effect.utility is None else f"; {effect.utility.words()}"
        yield f"{effect.defense} closes every leak that was found{cost}."
    if tried and not closing:
        best = max(tried, key=lambda one: one.n_stopped + one.n_ruled_out)
        n_closed = best.n_stopped + best.n_ruled_out
        yield f"nothing that was tried closes every leak; {best.defense} closes {n_closed} of {best.n_tried}."


def _rest(top: Statement) -> Iterator[RenderableType]:
    if top.usefulness:
        yield Text(visible(top.usefulness))
    yield Text(visible(top.tally), style="dim")
