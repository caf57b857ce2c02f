"""``fedleak bench``."""

from __future__ import annotations

import typer

from fedleak.cli.output import check_json_target, write_json
from fedleak.core.errors import UnknownNameError
from fedleak.core.hints import nearest_or_list

BENCHES = ("paillier",)


def bench_command(name: str, json: str | None, quick: bool) -> None:
    if name not in BENCHES:
        raise UnknownNameError(f"unknown bench {name!r}{nearest_or_list(name, BENCHES)}")
    check_json_target(json)
    from fedleak.bench.paillier import measure

    result = measure(quick=quick)
    if json is not None:
        write_json(result, json)
    if json != "-":
        for key, value in result.items():
            if key.endswith("_ratio"):
                typer.echo(f"{key:20s} {value:8.2f}  (above 1: fedleak is faster)")
