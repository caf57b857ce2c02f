"""Private keys stay out of stored transcripts: attacks get them in their views, and they go with the process.

A transcript outlives its run by years, and what a key opens may be passed on beside it. Nothing needs the key on the
disk: who resumes an audit runs the protocol again, with new keys. ``--keep-keys`` keeps them, for who wants to open
messages later, or to audit the stored transcript in the place of who held the key.
"""

from __future__ import annotations

from dataclasses import replace

from fedleak.core.facts import Facts
from fedleak.core.payload import settled_payload
from fedleak.core.transcript import Message, Record, StoredSequence
from fedleak.core.whole.run import Captured, Sink


class WithheldKeys(Sink):
    """Passes everything on but private keys, which join what the run's own process reads back."""

    def __init__(self, inner: Sink) -> None:
        self._inner = inner
        self._counts: dict[str, int] = {}  # of a party's records so far
        self._held: dict[str, dict[int, Record]] = {}  # by their place among the party's records

    def message(self, message: Message) -> None:
        self._inner.message(message)

    def record(self, party: str, record: Record) -> None:
        from fedleak.crypto.sent_keys import is_private_key  # gmpy2: a captured run needs none

        place = self._counts.get(party, 0)
        self._counts[party] = place + 1
        if is_private_key(record.value):
            self._held.setdefault(party, {})[place] = replace(record, value=settled_payload(record.value))
        else:
            self._inner.record(party, record)

    def finish(self, facts: Facts) -> Captured:
        captured = self._inner.finish(facts)
        joined = {party: self._joined(party, captured) for party in self._counts}
        return Captured(captured.transcript, {**captured.locals, **joined})

    def abandon(self) -> None:
        self._inner.abandon()

    def _joined(self, party: str, captured: Captured) -> StoredSequence[Record]:
        """In the order in which the party recorded them; those on disk are still unread."""
        held, stored = self._held.get(party, {}), captured.locals.get(party, ())
        on_disk = iter(range(len(stored)))
        places = [-1 - place if place in held else next(on_disk) for place in range(self._counts[party])]
        names = stored.keys if isinstance(stored, StoredSequence) else [record.name for record in stored]
        keys = [held[-1 - place].name if place < 0 else names[place] for place in places]
        return StoredSequence(places, keys, lambda place: held[-1 - place] if place < 0 else stored[place])
