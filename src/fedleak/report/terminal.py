"""A report in the terminal: the verdict first, then a table for each adversary, the model, and what decided nothing.

Everything that a report brings along is printed as plain text: no markup, no control characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedleak.core.conclusion import Level
from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.core.report import Report, RunSummary
from fedleak.core.visible_text import visible
from fedleak.report.agreement import Agreement, agreement
from fedleak.report.cases import Opponent, Silence, opponents, silences
from fedleak.report.defense_effect import effects
from fedleak.report.model_beside_guess import with_baseline
from fedleak.report.numbers import MISSING, count, duration, figure, interval, metric_words, percent
from fedleak.report.safe_text import Name
from fedleak.report.verdict import UNMEASURED, Statement, statement
from fedleak.report.wording import (
    OUTCOME_WORDS,
    budget_words,
    ceiling_words,
    columns_words,
    left_out,
    outcome_words,
    owned,
    reason_of,
    scores_cells,
    severity_words,
    unchecked_words,
    who,
)

WIDE = 124  # columns from which every figure gets a column of its own
WIDEST = 160  # columns that a table fills
FURTHER = (
    "label-accuracy",
    "mse-per-feature",
    "psnr",
    "branching-rate",
)  # besides the main metric and the share of cells
STYLES = {
    Outcome.LEAK: "bold red",
    Outcome.NO_LEAK: "green",
    Outcome.NOT_IDENTIFIABLE: "cyan",
    Outcome.UNDETERMINED: "yellow",
    Outcome.UNCHECKED: "yellow",
    Outcome.SKIPPED: "dim",
    Outcome.ERRORED: "yellow",
}
SEVERITY_STYLES = {
    Severity.NONE: "green",
    Severity.LOW: "yellow",
    Severity.MEDIUM: "bold yellow",
    Severity.HIGH: "bold red",
}
TONE_STYLES = {severity.label: style for severity, style in SEVERITY_STYLES.items()} | {UNMEASURED: "bold"}


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[[Finding], RenderableType]
    ratio: int | None = None


def print_report(report: Report, console: Console) -> None:
    _print_statement(report, console)
    for opponent in opponents(report.findings):
        _print_opponent(opponent, console)
    _print_runs(report, console)
    _print_silences(silences(report.findings), console)
    if left_out(report.for_other_protocols):
        console.print()
        console.print(_plain(left_out(report.for_other_protocols), "dim"))
    _print_list("What to change", report.advice, console)


def _print_statement(report: Report, console: Console) -> None:
    top = statement(report)
    console.print(Text.assemble((f"{top.level}: ", TONE_STYLES[top.tone]), (visible(top.headline), "bold")))
    for line in _lines_of(top):
        if line:
            console.print(_plain(line))
    for line in report.reduced:
        console.print(_plain(f"Smaller: {line}."))


def _lines_of(top: Statement) -> tuple[str, ...]:
    open_word = "Not settled" if top.in_a_word is Level.LEAK else "Missing"
    also, missing = (f"Also: {line}" for line in top.also), (f"{open_word}: {line}" for line in top.missing)
    return (top.meaning, *also, *missing, top.usefulness, top.remedy, top.tally)


def _print_opponent(opponent: Opponent, console: Console) -> None:
    measured = [finding for finding in opponent.findings if finding.outcome is not Outcome.SKIPPED]
    console.print()
    console.print(_plain(f"What {who(opponent.names)} can learn ({opponent.mode.value})", "bold underline"))
    if not measured:
        console.print(_plain("Every attack was skipped; the reasons are below."))
        return
    columns = _wide_columns() if console.width >= WIDE else _narrow_columns()
    table = _table(width=min(console.width, WIDEST))
    for column in columns:
        table.add_column(column.title, overflow="fold", ratio=column.ratio)
    for finding in measured:
        table.add_row(*(column.cell(finding) for column in columns))
    console.print(table)


def _wide_columns() -> tuple[Column, ...]:
    return (
        Column("attack", lambda finding: Name(finding.attack), 5),
        Column("secret", _secret, 4),
        Column("defense", _defense, 4),
        Column("outcome", _outcome, 3),
        Column("measured", _value, 5),
        Column("baseline", _baseline, 2),
        Column("cells", lambda finding: _plain(percent(finding.cells_recovered)), 2),
        Column("theory", _theory, 4),
        Column("severity", _severity, 2),
    )


def _narrow_columns() -> tuple[Column, ...]:
    """The same figures in four columns: 80 characters are not enough for nine."""
    return (
        Column("attack on secret", lambda finding: Group(Name(finding.attack), _secret(finding)), 6),
        Column("defense", _defense, 4),
        Column("outcome, severity, theory", _outcome_lines, 5),
        Column("measured", _measured_lines, 6),
    )


def _secret(finding: Finding) -> Text:
    return _plain(owned(finding.secret))


def _defense(finding: Finding) -> Name:
    return Name(finding.defense or "none", "" if finding.defense else "dim")


def _outcome(finding: Finding) -> Text:
    return Text(outcome_words(finding), style=STYLES[Outcome.LEAK if finding.is_proved else finding.outcome])


def _severity(finding: Finding) -> Text:
    return Text(severity_words(finding), style=SEVERITY_STYLES[finding.severity])


def _theory(finding: Finding) -> Text:
    agreed = agreement(finding)
    style = "bold yellow" if agreed is Agreement.DISAGREES else ""
    silent = agreed in {Agreement.NO_PREDICTION, Agreement.NO_MEASUREMENT}
    return _plain(finding.theory.verdict if silent else f"{finding.theory.verdict}, {agreed.value}", style)


def _value(finding: Finding) -> Text:
    score = finding.score
    if score is None:
        return _plain(unchecked_words(finding) or MISSING)
    lines = [_plain(f"{metric_words(score.metric)} {figure(score.metric, score.value)}")]
    lines.append(Text(f"[{interval(score)}]", style="dim"))
    named = [_plain(columns_words(finding), "bold")] if columns_words(finding) else []
    return _lines(*lines, *named, *_beside(finding), *_further(finding))


def _beside(finding: Finding) -> list[Text]:
    """Of labels: what was measured where, so that a useful model is not taken for a leak."""
    score, bounds = finding.population, [words for words in (ceiling_words(finding), budget_words(finding)) if words]
    if score is None:
        return [_plain(words) for words in bounds]
    own = f"own labels: {metric_words(score.metric)} {figure(score.metric, score.value)}, the model's part included"
    return [_plain("on redrawn labels", "dim"), *map(_plain, bounds), _plain(own, "dim")]


def _further(finding: Finding) -> list[Text]:
    """Other figures of the same guess that papers report, with their baselines; the page and the JSON have all."""
    return [
        _plain(f"{metric_words(s.metric)} {figure(s.metric, s.value)} ({figure(s.metric, s.baseline)})", "dim")
        for s in finding.further_scores
        if s.metric in FURTHER
    ]


def _baseline(finding: Finding) -> Text:
    return Text(MISSING if finding.score is None else figure(finding.score.metric, finding.score.baseline))


def _outcome_lines(finding: Finding) -> Text:
    lines = [_outcome(finding)]
    if severity_words(finding) != MISSING:
        lines.append(Text.assemble("severity ", _severity(finding)))
    return _lines(*lines, Text.assemble("theory ", _theory(finding)))


def _measured_lines(finding: Finding) -> Text:
    if finding.score is None:
        said = [text for text in (unchecked_words(finding), finding.certificate or reason_of(finding)) if text]
        return _lines(*map(_plain, said))
    lines = [_value(finding), Text.assemble("baseline ", _baseline(finding))]
    if finding.cells_recovered is not None and not scores_cells(finding):
        lines.append(Text(f"cells {percent(finding.cells_recovered)}"))
    return _lines(*lines)


def _print_runs(report: Report, console: Console) -> None:
    if not report.runs:
        return
    console.print()
    console.print(_plain("What it costs: the model in each run", "bold underline"))
    metrics = tuple(dict.fromkeys(name for run in report.runs for name in run.utility))
    table = _table()
    for title in ("defense", "deviation", *metrics, "time"):
        table.add_column(_plain(metric_words(title)), overflow="fold")
    for run in report.runs:
        table.add_row(*_run_cells(run, metrics))
    console.print(table)
    if any(run.baselines for run in report.runs):
        console.print(_plain("In brackets: always saying the majority class, or the mean.", "dim"))
    _print_list("", [f"{effect.defense} {effect.words()}." for effect in effects(report)], console)
    _print_list("", [f"{run.defense or 'no defense'}: {note}" for run in report.runs for note in run.notes], console)


def _run_cells(run: RunSummary, metrics: Iterable[str]) -> list[Text]:
    figures = [_plain(with_baseline(run, name)) for name in metrics]
    return [_plain(run.defense or "none"), _plain(run.deviation or "none"), *figures, Text(duration(run.seconds))]


def _print_silences(silent: tuple[Silence, ...], console: Console) -> None:
    if not silent:
        return
    n_findings = sum(len(group.findings) for group in silent)
    console.print()
    console.print(
        _plain(f"{count(n_findings, 'finding')} neither leak nor no leak: none of these is a zero", "bold underline")
    )
    for group in silent:
        attacks = ", ".join(dict.fromkeys(finding.attack for finding in group.findings))
        head = Text.assemble((OUTCOME_WORDS[group.outcome], STYLES[group.outcome]), f" {len(group.findings)} × ")
        _print_item(Text.assemble(head, _plain(f"{attacks}: {group.why}")), console)


def _print_list(title: str, lines: Iterable[str], console: Console) -> None:
    lines = tuple(lines)
    if lines and title:
        console.print()
        console.print(_plain(title, "bold underline"))
    for line in lines:
        _print_item(_plain(line), console)


def _print_item(text: Text, console: Console) -> None:
    marker = Table.grid(padding=(0, 1, 0, 0))
    marker.add_row(Text("•"), text)
    console.print(Padding(marker, (0, 0, 0, 1)))


def _table(width: int | None = None) -> Table:
    """With a width, the columns share it by their ratios, so that the tables of all adversaries line up."""
    lined = width is not None
    return Table(
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, show_lines=lined, width=width
    )


def _plain(text: str, style: str = "") -> Text:
    return Text(visible(text), style=style)


def _lines(*lines: Text) -> Text:
    return Text("\n").join(lines)
