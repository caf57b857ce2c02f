"""The table of docs/paillier.md, from what `fedleak bench paillier --json docs/paillier.json` measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
PAGE, MEASURED = DOCS / "paillier.md", DOCS / "paillier.json"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"
OPERATIONS = {"encrypt": "encryption", "decrypt": "decryption", "add": "sum", "multiply": "product with a number"}
PRODUCT = "matvec"


def table(result: dict[str, Any]) -> str:
    """Microseconds of one operation; milliseconds of the product with a matrix."""
    environment = result["environment"]
    heads = ["", *OPERATIONS.values(), f"{environment['matrix']} matrix"]
    rows = [heads, ["---"] * len(heads), ["", *["µs"] * len(OPERATIONS), "ms"]]
    for side, seconds in result["sides"].items():
        version = environment.get(side)
        cells = [_shown(1e6 * seconds[f"{name}_seconds"]) for name in OPERATIONS]
        product = _shown(1e3 * seconds[f"{PRODUCT}_seconds"])
        rows.append([f"{side} {version}" if version else f"`{side}`", *cells, product])
    told = (
        f"{environment['key_bits']} bits, {environment['repetitions']} repetitions, {environment['clock']}; "
        f"{environment['cpu']}, Python {environment['python']}, {environment['time'][:10]}.\n"
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + f"\n\n{told}"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def page(text: str, result: dict[str, Any]) -> str:
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{table(result)}{END}{rest.split(END)[1]}"


def main() -> int:
    result = json.loads(MEASURED.read_text(encoding="utf-8"))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
