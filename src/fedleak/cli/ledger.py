"""``fedleak ledger``: what several audits reveal together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fedleak.cli.console import plain_console
from fedleak.cli.output import write_json
from fedleak.core.errors import InputError
from fedleak.door.reports import load_report
from fedleak.report.ledger_words import lines_of
from fedleak.report.shared_ledger import ledger


def ledger_command(sources: Sequence[Path], json: str | None) -> None:
    places = [os.path.realpath(source) for source in sources]
    if len(set(places)) < len(places):
        twice = next(str(source) for source, place in zip(sources, places, strict=True) if places.count(place) > 1)
        raise InputError(f"REPORTS must be different audits; got {twice} twice")
    found = ledger([(str(source), load_report(source)) for source in sources])
    if json is not None:
        write_json(found.to_json(), json)
    if json != "-":
        console = plain_console()
        for line in lines_of(found):
            console.print(line)
