"""Terminals that have no more than ASCII."""

from __future__ import annotations

import codecs
import io
import sys

# How our own signs are written where a terminal has no more than ASCII; any other character is written as an escape.
IN_ASCII = {
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "±": "+-",
    "·": "*",
    "—": "-",
    "–": "-",
    "−": "-",
    "…": "...",
    "→": "->",
    "█": "#",
}
SPELT_OUT = "fedleak-spelt-out"


def spell_out() -> None:
    """From now on, a character that standard output or error cannot show is written in ones that it can."""
    codecs.register_error(SPELT_OUT, _spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELT_OUT)


def _spelt(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(IN_ASCII.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in wrong), error.end
