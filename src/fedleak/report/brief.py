"""The verdict on one screen: who learns what about whom, how sure that is, what to change. The page has the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedleak.core.conclusion import Level
from fedleak.core.finding import Finding, Mode
from fedleak.core.report import Report
from fedleak.core.visible_text import visible
from fedleak.report.matrix import answers
from fedleak.report.numbers import count, figure, metric_words, percent
from fedleak.report.terminal import SEVERITY_STYLES, STYLES, TONE_STYLES
from fedleak.report.verdict import Statement, statement
from fedleak.report.wording import columns_words, outcome_words, owned, share_learned, who

MOST_LINES = 22  # of a screen of 25, three are for where the files are
MOST_ROWS = 7
MOST_WIDE = 110
WHO_WIDE, ABOUT_WIDE = 18, 34  # of 80 columns, so that what was found is not cut before a name is
MOST_MISSING = 2


def print_brief(report: Report, console: Console) -> None:
    """What stands first is always there; of the rest as much as a screen holds, and a word where more was left out."""
    top, width = statement(report), min(console.width, MOST_WIDE)
    first = [*_headline(top), *_matrix(report.findings), *_open_questions(top), *_smaller(report)]
    left = MOST_LINES - sum(_n_lines(part, console, width) for part in first) - 1
    shown, n_cut = first, 0
    for part in _rest(report, top):
        n_lines = _n_lines(part, console, width)
        if n_lines <= left:
            left -= n_lines
            shown.append(part)
        else:
            n_cut += 1
    more = " and what else was found or advised" if n_cut else ""
    for part in (*shown, Text(f"Every attack{more}: in the page, or with --verbose.", style="dim")):
        console.print(part, width=width)


def _n_lines(part: RenderableType, console: Console, width: int) -> int:
    return len(console.render_lines(part, console.options.update(width=width), pad=False))


def _headline(top: Statement) -> Iterator[RenderableType]:
    yield Text.assemble((f"{top.level}: ", TONE_STYLES[top.tone]), (visible(top.headline), "bold"))
    if top.meaning:
        yield Text(visible(top.meaning))


def _matrix(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """A line for each adversary and secret, the gravest first; without a defense, which has its own words below."""
    rows = answers(findings)
    if not rows:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title, most in (("who", WHO_WIDE), ("about", ABOUT_WIDE), ("finds", None)):
        table.add_column(Text(title, style="dim"), overflow="ellipsis", no_wrap=True, max_width=most)
    for finding in rows[:MOST_ROWS]:
        by = who(finding.adversary) + (", deviating" if finding.mode is Mode.ACTIVE else "")
        table.add_row(Text(visible(by)), Text(visible(owned(finding.secret))), _found(finding))
    yield Padding(table, (1, 0, 0, 0))
    if len(rows) > MOST_ROWS:
        yield Text(f"and {count(len(rows) - MOST_ROWS, 'question')} more, none of them graver", style="dim")


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


def _rest(report: Report, top: Statement) -> Iterator[RenderableType]:
    for line in (top.usefulness, top.remedy):
        if line:
            yield Text(visible(line))
    for line in report.advice[:3]:
        yield Text.assemble(("Change: ", "bold"), visible(line))
    yield Text(visible(top.tally), style="dim")
