"""A report as one HTML file that needs nothing else: no request; style, pictures and one small script inline.

The templates lie in the package; everything that a report brings along is escaped on its way in. The script searches,
and the page is whole without it; its hash stands in the page's policy, so that no other one runs.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Report, RunSummary
from fedleak.core.visible_text import visible
from fedleak.report.agreement import agreement, agreement_words
from fedleak.report.cases import Case, Opponent, Silence, opponents, silences
from fedleak.report.defense_effect import defenses, effects
from fedleak.report.example_rows import example_tables
from fedleak.report.findable import findable
from fedleak.report.glossary import glossary
from fedleak.report.matrix import matrix, worst_columns
from fedleak.report.model_beside_guess import honest_run, with_baseline
from fedleak.report.numbers import MISSING, count, duration, figure, interval, metric_words, percent
from fedleak.report.picture_grid import picture_grids
from fedleak.report.pictures import exhibit_picture, exhibit_words, score_bar
from fedleak.report.read_advice import Advised
from fedleak.report.verdict import partner_sentence, statement
from fedleak.report.wording import (
    MODE_MEANING,
    OUTCOME_MEANING,
    OUTCOME_WORDS,
    budget_words,
    ceiling_words,
    claim_words,
    columns_words,
    is_captured,
    joined,
    left_out,
    outcome_words,
    owner_words,
    population_words,
    possessive,
    scores_cells,
    severity_words,
    unchecked_words,
    who,
)
from fedleak.storage import file_writing

PERCENT_GAP = re.compile(r"(?<=\d) %")


@dataclass(frozen=True, eq=False)
class ComparedCase:
    """A row of the table of defenses: one case under no defense and under each; None where it was not tried."""

    opponent: Opponent
    case: Case
    findings: tuple[Finding | None, ...]


def render(report: Report, advised: Advised | None = None) -> str:
    worst = worst_columns(report.findings)
    script = _template_text("search.js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            advised=advised,
            title=page_title(report),
            top=statement(report),
            style=Markup(_template_text("style.css")),
            script=Markup(script),
            script_hash=_hash(script),
            matrix=matrix(report.findings),
            worst_columns=worst,
            examples=example_tables(worst),
            scaling=_scaling(report),
            opponents=opponents(report.findings),
            silences=_silences_by_outcome(report),
            left_out=left_out(report.for_other_protocols),
            defenses=defenses(report),
            effects=effects(report),
            changes=_changes(report),
            one_by_one=tuple(one.sentence for one in report.remedies if one.defense is not None),
            grids=picture_grids(report),
            compared=compared_cases(report),
            honest_runs=_honest_runs(report),
            utilities=tuple(dict.fromkeys(name for run in report.runs for name in run.utility)),
            shown_owners=_shown_owners(report),
            captured=is_captured(report),
            glossary=glossary(report),
        )
    )


def write(report: Report, path: Path, advised: Advised | None = None) -> None:
    file_writing.write_text(path, render(report, advised), private=True)


def page_title(report: Report) -> str:
    """The scenario's title, or else its protocol."""
    candidates = (report.scenario.get("title"), report.scenario.get("protocol"))
    return next((name for name in candidates if isinstance(name, str) and name), "federation")


def compared_cases(report: Report) -> tuple[ComparedCase, ...]:
    """Every case that was tried under some defense, in the order of the page."""
    names = (None, *defenses(report))
    rows = []
    for opponent in opponents(report.findings):
        for case in opponent.cases:
            by_defense = {finding.defense: finding for finding in case.findings}
            if case.has_content and set(by_defense) - {None}:
                rows.append(ComparedCase(opponent, case, tuple(by_defense.get(name) for name in names)))
    return tuple(rows)


def _changes(report: Report) -> tuple[str, ...]:
    """A line a change: defenses by what they were seen to do, the best first, then what theory says would help."""
    tried = sorted(
        effects(report), key=lambda one: (one.closes, one.helps, one.n_stopped + one.n_ruled_out), reverse=True
    )
    helpful = [f"{one.defense} {one.words()}." for one in tried if one.helps]
    useless = [f"{one.defense} {one.words()}." for one in tried if one.n_tried and not one.helps]
    by_theory = [remedy.sentence for remedy in report.remedies if remedy.defense is None]
    return (*helpful, *by_theory, *useless)


def _honest_runs(report: Report) -> tuple[RunSummary | None, ...]:
    return tuple(honest_run(report, name) for name in (None, *defenses(report)))


def _silences_by_outcome(report: Report) -> dict[Outcome, list[Silence]]:
    grouped: dict[Outcome, list[Silence]] = {}
    for silence in silences(report.findings):
        grouped.setdefault(silence.outcome, []).append(silence)
    return grouped


def _shown_owners(report: Report) -> tuple[str, ...]:
    """Whose true values the page shows: a reason not to pass it on."""
    return tuple(
        dict.fromkeys(owner_words(finding.secret) for finding in report.findings if finding.exhibit is not None)
    )


def _hash(script: str) -> str:
    """As a content security policy names a script: of the text between its tags."""
    return f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _scaling(report: Report) -> str:
    """How columns were scaled before the federation computed with them; empty where they were not."""
    data = report.scenario.get("data")
    named = data.get("scaling") if isinstance(data, Mapping) else None
    return named if isinstance(named, str) and named != "none" else ""


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_template_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.filters.update(percent=percent, duration=duration, joined=joined, who=who, metric_words=metric_words)
    environment.globals.update(
        agreement=agreement,
        budget_words=budget_words,
        ceiling_words=ceiling_words,
        agreement_words=agreement_words,
        claim_words=claim_words,
        columns_words=columns_words,
        count=count,
        exhibit_picture=exhibit_picture,
        exhibit_words=exhibit_words,
        figure=figure,
        findable=findable,
        interval=interval,
        holds_nested=_holds_nested,
        is_list=_is_list,
        is_mapping=lambda value: isinstance(value, Mapping),
        missing=MISSING,
        mode_meaning=MODE_MEANING,
        outcome_meaning=OUTCOME_MEANING,
        unchecked_words=unchecked_words,
        outcome_words=OUTCOME_WORDS,
        words_of=outcome_words,
        partner_sentence=partner_sentence,
        population_words=population_words,
        possessive=possessive,
        plain_words=_plain_words,
        score_bar=score_bar,
        scores_cells=scores_cells,
        severity_words=severity_words,
        with_baseline=with_baseline,
    )
    return environment


def _template_text(name: str) -> str:
    return resources.files("fedleak.report").joinpath("templates", name).read_text(encoding="utf-8")


def _harmless(value: object) -> object:
    """Control characters written out, before Jinja escapes; our own markup passes. No line ends before a "%"."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return PERCENT_GAP.sub("\u00a0%", visible(value))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _holds_nested(values: Sequence[object]) -> bool:
    return any(isinstance(value, Mapping | list | tuple) for value in values)


def _plain_words(value: object) -> str:
    """A scalar, or a list of scalars, of the scenario or the environment."""
    match value:
        case None:
            return MISSING
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(_plain_words(member) for member in value) or MISSING
        case Mapping():
            return MISSING
        case float():
            return f"{value:.12g}"
    return str(value)
