"""``fedleak init``: from a table to a scenario, with questions where there is somebody to answer them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from fedleak.auditing.own_table import Wishes, draft_text, drafted
from fedleak.cli.output import say
from fedleak.core.errors import InputError
from fedleak.core.visible_text import visible
from fedleak.data.column_survey import survey
from fedleak.data.sources import load
from fedleak.storage.file_writing import write_text


def init_command(table: str, wishes: Wishes, out: Path) -> None:
    if out.exists():
        raise InputError(f"--out must name a new file; {out} is there. Choose another name, or remove it")
    draft = drafted(table, _asked(table, wishes) if somebody_answers() else wishes)
    write_text(out, draft_text(draft, out.parent))
    for remark in draft.remarks:
        say(remark)
    say(f"\nWritten: {out}. What theory says of it: fedleak check {out}   The audit: fedleak audit {out}")


def somebody_answers() -> bool:
    return sys.stdin.isatty()


def _asked(source: str, wishes: Wishes) -> Wishes:
    """What nobody said and no cell shows: which column holds the labels, and whose the others are."""
    table = load(source, target=wishes.target)
    if wishes.target is None and table.target is None:
        for column in survey(table):
            say(f"  {column.name}: {column.nature.value}, {column.n_distinct:,} values, {column.n_missing:,} missing")
        chosen = _answer("Which column holds the labels?", click.Choice(table.names))
        wishes, table = replace(wishes, target=chosen), load(source, target=chosen)
    if wishes.mine is None and not wishes.partners:
        say(f"Columns: {', '.join(table.names)}")
        wishes = replace(wishes, mine=_answer("Which of them are yours? (with commas; the others are your partner's)"))
        wishes = replace(wishes, labels=_answer("Who has the labels?", click.Choice(["mine", "partner"]), "mine"))
    return wishes


def _answer(question: str, kind: click.Choice[str] | None = None, usual: str | None = None) -> str:
    return str(click.prompt(visible(question), type=kind, default=usual, show_choices=usual is not None))
