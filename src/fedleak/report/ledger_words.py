"""A ledger in words: by owner and adversary, what each audit added, and how far it can be relied on."""

from __future__ import annotations

from collections.abc import Iterator

from fedleak.core.adversary import SecretKind
from fedleak.report.numbers import count, percent
from fedleak.report.shared_ledger import Entry, Ledger
from fedleak.report.wording import joined, who

MOST_NAMED = 8


def lines_of(ledger: Ledger) -> Iterator[str]:
    learnt = count(len(ledger.entries), "thing")
    yield f"{count(len(ledger.names), 'audit')} together: {learnt} learnt, without a defense."
    yield from (f"  audit {place}: {name}" for place, name in enumerate(ledger.names, start=1))
    yield from _by_owner(ledger)
    yield ""
    yield from (_new(ledger, place) for place in range(len(ledger.names)))
    yield ""
    yield from _pooled(ledger)
    yield from _caveats(ledger)


def _by_owner(ledger: Ledger) -> Iterator[str]:
    pairs = dict.fromkeys((entry.item.owner, entry.item.who) for entry in ledger.entries)
    for owner, names in pairs:
        yield ""
        yield f"What {who(names)} {'have' if len(names) > 1 else 'has'} of {owner}:"
        for entry in ledger.entries:
            if (entry.item.owner, entry.item.who) == (owner, names):
                yield f"  {entry.item.name}: {_amount(entry, ledger)} ({_where(entry)}; {', '.join(entry.risks)})"


def _amount(entry: Entry, ledger: Ledger) -> str:
    low = entry.at_least
    if low is None:
        return "more than a guess"
    what = "records" if entry.item.kind is SecretKind.LABELS else "values"
    if low >= 1:
        return f"all {what}"
    if len(entry.shown) == 1:
        return f"{percent(low)} of the {what}"
    high = entry.at_most if ledger.same_records else None
    most = f"at most {percent(high)}" if high is not None else "how many at most is not known"
    return f"at least {percent(low)} of the {what}, {most}"


def _where(entry: Entry) -> str:
    *before, last = (str(one.audit + 1) for one in entry.shown)
    audits = f"audits {joined((*before, last))}" if before else f"audit {last}"
    still = f", not settled in {joined([str(place + 1) for place in entry.left_open])}" if entry.left_open else ""
    return f"{audits}{still}"


def _new(ledger: Ledger, place: int) -> str:
    found = [f"{entry.item.name} of {entry.item.owner} to {who(entry.item.who)}" for entry in ledger.new_in(place)]
    if not found:
        return f"New in audit {place + 1}: nothing."
    shown = [*found[:MOST_NAMED], f"{len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else found
    return f"New in audit {place + 1}: {'; '.join(shown)}."


def _pooled(ledger: Ledger) -> Iterator[str]:
    for owner, names in ledger.pooled.items():
        shown = [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else names
        yield f"If all of them pool what they have of {owner}: {joined(shown)}."


def _caveats(ledger: Ledger) -> Iterator[str]:
    for place, missing in ledger.missing.items():
        if missing:
            yield f"Not settled in audit {place + 1}: {count(len(missing), 'question')}; none of them is a zero."
    if not ledger.same_records:
        yield "The audits name different tables, rows or splits: whether they are about the same persons is not known."
    if any(len(entry.shown) > 1 and (entry.at_least or 0) < 1 for entry in ledger.entries):
        yield "Reports keep shares, not records: whether two audits leave the same records open is not known."
    if len(ledger.names) > 1:
        yield (
            "A party of one name is taken for one party. What an attack on several runs at once would find, such as "
            "the mean of their noise, is in none of these audits."
        )
