"""What a site's filter kept of its XGBoost client's calls, as the decoder of XGBoost's messages takes it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from fedleak.core.errors import FileFormatError
from fedleak.frameworks.xgboost.xgboost_wire import ALLREDUCE, BROADCAST, GATHER, GATHER_V, Exchange

KEPT = "exchanges.jsonl"
METHODS = (ALLREDUCE, BROADCAST, GATHER, GATHER_V)


def kept_exchanges(path: Path) -> list[Exchange]:
    if not path.exists():
        raise FileFormatError("the site's filter must keep what its XGBoost client sends; it kept nothing")
    found = []
    for line in path.read_text(encoding="ascii").splitlines():
        try:
            method, request, reply = json.loads(line)
            found.append(Exchange(method, base64.b64decode(request), base64.b64decode(reply)))
        except ValueError as error:
            raise FileFormatError(f"call {len(found) + 1} that the site's filter kept breaks off") from error
    return found
