"""Between a report and the keys of its JSON. What follows from the findings is computed anew, and never trusted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from math import isfinite, nan
from types import MappingProxyType
from typing import Any

from fedleak.core.finding import Finding, Score
from fedleak.core.report import Remedy, Report, RunSummary
from fedleak.report.defense_effect import Effect, effects
from fedleak.report.json_keys import (
    SCHEMA_VERSION,
    SCORE_KEYS,
    FindingKeys,
    RemedyKeys,
    ReportKeys,
    ReportKeys1,
    RunKeys,
    UtilityChangeKeys,
    VerdictKeys,
)
from fedleak.report.model_beside_guess import UtilityChange
from fedleak.report.verdict import statement
from fedleak.schema.strict_json import Malformed


def keys_of(report: Report) -> ReportKeys:
    by_defense = {effect.defense: effect for effect in effects(report)}
    return ReportKeys(
        schema_version=SCHEMA_VERSION,
        verdict=_verdict(report),
        repeats=report.repeats,
        run_key=report.run_key,
        scenario=report.scenario,
        environment=report.environment,
        runs=tuple(run_keys(run) for run in report.runs),
        findings=tuple(finding_keys(finding) for finding in report.findings),
        remedies=tuple(_remedy_keys(remedy, by_defense.get(remedy.defense or "")) for remedy in report.remedies),
        for_other_protocols=report.for_other_protocols,
        interrupted=report.interrupted,
        reduced=report.reduced,
    )


def report_of(keys: ReportKeys) -> Report:
    return Report(
        scenario=MappingProxyType(dict(keys.scenario)),
        environment=MappingProxyType(dict(keys.environment)),
        runs=tuple(run_of(run) for run in keys.runs),
        findings=findings_of(keys.findings),
        remedies=tuple(Remedy(remedy.sentence, remedy.defense) for remedy in keys.remedies),
        for_other_protocols=keys.for_other_protocols,
        run_key=keys.run_key,
        repeats=keys.repeats,
        interrupted=keys.interrupted,
        reduced=keys.reduced,
    )


def report_of_version_1(keys: ReportKeys1) -> Report:
    environment = dict(keys.environment)
    run_key = environment.pop("run_key", None)  # it stood there
    return Report(
        scenario=MappingProxyType(dict(keys.scenario)),
        environment=MappingProxyType(environment),
        runs=tuple(run_of(run) for run in keys.runs),
        findings=findings_of(keys.findings),
        remedies=tuple(Remedy(sentence) for sentence in keys.advice),
        for_other_protocols=keys.for_other_protocols,
        run_key=None if run_key is None else str(run_key),
    )


def _verdict(report: Report) -> VerdictKeys:
    top = statement(report)
    return VerdictKeys(
        level=top.in_a_word,
        severity=top.severity,
        headline=top.headline,
        meaning=top.meaning,
        also=top.also,
        remedy=top.remedy,
        tally=top.tally,
        missing=top.missing,
        usefulness=top.usefulness,
    )


def _remedy_keys(remedy: Remedy, effect: Effect | None) -> RemedyKeys:
    tried = effect if effect is not None and effect.n_tried else None
    return RemedyKeys(
        sentence=remedy.sentence,
        defense=remedy.defense,
        stops=None if tried is None else tried.n_stopped,
        of=None if tried is None else tried.n_tried,
        utility_change=_utility_change(effect.utility) if effect else None,
        rules_out=None if tried is None else tried.n_ruled_out,
    )


def _utility_change(change: UtilityChange | None) -> UtilityChangeKeys | None:
    if change is None or not isfinite(change.without) or not isfinite(change.with_defense):
        return None
    return UtilityChangeKeys(**_same(UtilityChangeKeys, change))


def run_keys(run: RunSummary) -> RunKeys:
    return RunKeys(**_same(RunKeys, run))


def finding_keys(finding: Finding) -> FindingKeys:
    return FindingKeys(
        **_same(FindingKeys, finding, but=(*SCORE_KEYS, "gain_ci", "evidence", "certificate")),
        **_score_keys(finding.score),
        gain_ci=None if finding.score is None else finding.score.gain_ci,
        evidence=_joined(finding.evidence),
        certificate=finding.certificate or None,
    )


def _score_keys(score: Score | None) -> dict[str, Any]:
    return {name: getattr(score, name, None) for name in SCORE_KEYS}


def _joined(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """An object; where a name comes twice its values are joined, so that none is lost."""
    joined: dict[str, str] = {}
    for name, text in pairs:
        joined[name] = f"{joined[name]}; {text}" if name in joined else text
    return joined


def run_of(keys: RunKeys) -> RunSummary:
    utility, blind = (_figures(given) for given in (keys.utility, keys.baselines or {}))
    return RunSummary(keys.defense, keys.deviation, utility, _or_nan(keys.seconds), keys.notes, blind)


def _figures(given: Mapping[str, float | None]) -> Mapping[str, float]:
    return MappingProxyType({name: _or_nan(value) for name, value in given.items()})


def findings_of(entries: Sequence[FindingKeys]) -> tuple[Finding, ...]:
    for position, keys in enumerate(entries):
        beside = [score.ci for score in (keys.population, *keys.further_scores) if score is not None]
        for ci in (keys.ci, *beside):
            if ci is not None and ci[0] > ci[1]:
                problem = f"ci must be [low, high] with low <= high; got [{ci[0]:g}, {ci[1]:g}]"
                raise Malformed(problem).within(position).within("findings")
    return tuple(_finding(keys) for keys in entries)


def _finding(keys: FindingKeys) -> Finding:
    return Finding(
        **_same(Finding, keys, but=("score", "evidence", "certificate", "seconds")),
        score=None
        if keys.metric is None
        else Score(**{name: getattr(keys, name) for name in (*SCORE_KEYS, "gain_ci")}),
        evidence=tuple(keys.evidence.items()),
        certificate=keys.certificate or "",
        seconds=_or_nan(keys.seconds),
    )


def _same(kind: type, source: object, *, but: Collection[str] = ()) -> dict[str, Any]:
    """What two types have under the same names."""
    return {field.name: getattr(source, field.name) for field in fields(kind) if field.name not in but}


def _or_nan(value: float | None) -> float:
    return nan if value is None else value
