"""Several audits together: who has been shown what about whom by now, and what each audit added.

What was learnt once stays learnt, so the union is taken over the leaks that each audit shows without a defense. Reports
keep shares and no records: where two audits each leave a part open, whether they leave the same part is not known, and
what an attack on both runs at once would find is in neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fedleak.core.adversary import SecretKind
from fedleak.core.defended import Aim, by_aim
from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.core.report import Report
from fedleak.core.risk import Risk
from fedleak.report.cases import gravity
from fedleak.report.wording import owner_words, share_learned

SAME_ROWS = ("data", "partition", "seed")  # of a scenario: what decides which records there are
NO_LEAK = (Outcome.NO_LEAK, Outcome.NOT_IDENTIFIABLE)


@dataclass(frozen=True)
class Item:
    """Something that one adversary may know of one owner: the label, a column, or a secret that has no columns."""

    who: tuple[str, ...]
    owner: str
    kind: SecretKind
    name: str


@dataclass(frozen=True)
class Shown:
    audit: int  # its place among those that were given
    share: float | None  # None where it is more than a guess, and no share
    severity: Severity
    risks: tuple[Risk, ...]


@dataclass(frozen=True)
class Entry:
    item: Item
    shown: tuple[Shown, ...]  # in the order of the audits, at least one
    left_open: tuple[int, ...]  # audits that asked, and have no answer

    @property
    def first(self) -> int:
        return self.shown[0].audit

    @property
    def at_least(self) -> float | None:
        return max((one.share for one in self.shown if one.share is not None), default=None)

    @property
    def at_most(self) -> float | None:
        """Of the same records, by one audit or another; None where nothing bounds it."""
        shares = [one.share for one in self.shown]
        known = [share for share in shares if share is not None]
        return min(1.0, sum(known)) if known and len(known) == len(shares) and not self.left_open else None

    @property
    def severity(self) -> Severity:
        return max(one.severity for one in self.shown)

    @property
    def risks(self) -> tuple[Risk, ...]:
        return tuple(risk for risk in Risk if any(risk in one.risks for one in self.shown))


@dataclass(frozen=True)
class Ledger:
    names: tuple[str, ...]  # of the audits, in the order in which they were given
    entries: tuple[Entry, ...]  # the gravest first
    same_records: bool  # all audits name one table, split in one way
    missing: Mapping[int, tuple[str, ...]]  # of each audit what would have to be known and is not

    def new_in(self, audit: int) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.first == audit)

    @property
    def pooled(self) -> Mapping[str, tuple[str, ...]]:
        """Of each owner of whom several have something, all of it, whoever has it."""
        found: dict[str, dict[str, None]] = {}
        holders: dict[str, set[tuple[str, ...]]] = {}
        for entry in self.entries:
            found.setdefault(entry.item.owner, {})[entry.item.name] = None
            holders.setdefault(entry.item.owner, set()).add(entry.item.who)
        return {owner: tuple(names) for owner, names in found.items() if len(holders[owner]) > 1}

    def to_json(self) -> dict[str, object]:
        return {
            "schema_version": 1,
            "audits": list(self.names),
            "same_records": self.same_records,
            "entries": [self._entry_json(entry) for entry in self.entries],
            "new": [[self.entries.index(entry) for entry in self.new_in(place)] for place in range(len(self.names))],
            "pooled": {owner: list(names) for owner, names in self.pooled.items()},
            "missing": [list(self.missing.get(place, ())) for place in range(len(self.names))],
        }

    def _entry_json(self, entry: Entry) -> dict[str, object]:
        return {
            "adversary": list(entry.item.who),
            "owner": entry.item.owner,
            "kind": entry.item.kind.value,
            "name": entry.item.name,
            "severity": entry.severity.label,
            "risks": [risk.value for risk in entry.risks],
            "at_least": entry.at_least,
            "at_most": entry.at_most if self.same_records else None,
            "shown": [{"audit": one.audit, "share": one.share} for one in entry.shown],
            "left_open": list(entry.left_open),
        }


def ledger(audits: Sequence[tuple[str, Report]]) -> Ledger:
    found: dict[Item, list[Shown]] = {}
    asked = [_undefended(report) for _, report in audits]
    for place, questions in enumerate(asked):
        for item, shown in _items(place, questions):
            found.setdefault(item, []).append(shown)
    entries = [Entry(item, tuple(shown), _left_open(item, shown, asked)) for item, shown in found.items()]
    ranked = sorted(entries, key=lambda entry: (-entry.severity, -(entry.at_least or 0.0)))
    missing = {place: report.conclusion.missing for place, (_, report) in enumerate(audits)}
    rows = [[report.scenario.get(name) for name in SAME_ROWS] for _, report in audits]
    same = all(row == rows[0] for row in rows) and any(rows[0])
    return Ledger(tuple(name for name, _ in audits), tuple(ranked), same, missing)


def _undefended(report: Report) -> dict[Aim, list[Finding]]:
    return by_aim(finding for finding in report.findings if finding.defense is None)


def _items(place: int, questions: Mapping[Aim, Sequence[Finding]]) -> Iterator[tuple[Item, Shown]]:
    """Each once, as the gravest leak of it has it: whoever may break the rules may also keep them."""
    best: dict[Item, Shown] = {}
    leaks = [finding for found in questions.values() for finding in found if finding.is_shown]
    for finding in sorted(leaks, key=gravity):
        for name, share in _parts(finding):
            item = Item(finding.adversary, owner_words(finding.secret), finding.secret.kind, name)
            before = best.get(item)
            most = max((one for one in (share, before.share if before else None) if one is not None), default=None)
            best[item] = Shown(place, most, finding.severity, finding.risks)
    yield from best.items()


def _parts(finding: Finding) -> Iterator[tuple[str, float | None]]:
    leaking = [column for column in finding.columns if column.leaks]
    if finding.secret.kind is SecretKind.FEATURES and leaking:
        yield from ((column.column, column.cells_recovered) for column in leaking)
    else:
        yield finding.secret.kind.words, share_learned(finding)


def _left_open(item: Item, shown: Sequence[Shown], asked: Sequence[Mapping[Aim, Sequence[Finding]]]) -> tuple[int, ...]:
    have = {one.audit for one in shown}
    return tuple(place for place, questions in enumerate(asked) if place not in have and _is_open(item, questions))


def _is_open(item: Item, questions: Mapping[Aim, Sequence[Finding]]) -> bool:
    """Asked there, and not every attack that was run gave an answer."""
    tried = [
        finding
        for (who, _, secret), found in questions.items()
        if (who, owner_words(secret), secret.kind) == (item.who, item.owner, item.kind)
        for finding in found
        if finding.outcome is not Outcome.SKIPPED and not finding.is_shown
    ]
    return any(finding.outcome not in NO_LEAK for finding in tried)
