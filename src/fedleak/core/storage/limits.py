"""How much a stored folder may hold. Folders come from strangers: every size in them has a bound."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.payload import N_DIMENSIONS

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Checked when reading and when writing, so that what was written can be read back.

    The defaults let any real run through. Raise one to read an exceptional folder of your own.
    """

    total_bytes: int = 1 << 40  # the whole folder
    segment_bytes: int = 256 * MIB  # a segment file; only one that holds a single array may be larger
    header_bytes: int = 16 * MIB  # header.json
    line_bytes: int = 16 * MIB  # a line of index.jsonl
    n_entries: int = 10_000_000  # lines of index.jsonl
    n_segments: int = 4096
    n_dimensions: int = N_DIMENSIONS  # of an array
    n_levels: int = 64  # of payloads within payloads
    name_chars: int = 1024  # a name: of a party, a step, a column, a key
    text_chars: int = MIB  # a text that is itself a value
    integer_bits: int = 1 << 17  # an integer that is itself a value


DEFAULT_LIMITS = Limits()
