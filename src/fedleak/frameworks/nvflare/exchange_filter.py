"""The recording point at a site of NVFLARE's vertical XGBoost: every call of its XGBoost client, with the answer.

A site's XGBoost client talks to a servicer in the site's own process, which NVFLARE puts in the place of XGBoost's
server. A filter of the job runs in that process before the client starts; it has the servicer keep what passes.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nvflare.apis.filter import Filter
from nvflare.app_opt.xgboost.histogram_based_v2.adaptors.grpc_client_adaptor import GrpcClientAdaptor

from fedleak.frameworks.averaged_clients import FOLDER
from fedleak.frameworks.nvflare.kept_exchanges import KEPT, METHODS


class ExchangeFilter(Filter):  # type: ignore[misc]
    """Changes nothing of the task that it is given; it may be added for one site alone."""

    def process(self, shareable: Any, fl_ctx: Any) -> Any:
        for method in METHODS:
            setattr(GrpcClientAdaptor, method, kept(method, getattr(GrpcClientAdaptor, method)))
        return shareable


def kept(method: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    place = Path(os.environ[FOLDER]) / KEPT

    def keeping(servicer: Any, request: Any, context: Any) -> Any:
        reply = answer(servicer, request, context)
        passed = [base64.b64encode(one.SerializeToString()).decode() for one in (request, reply)]
        with place.open("a", encoding="ascii") as kept_so_far:
            kept_so_far.write(json.dumps([method, *passed]) + "\n")
        return reply

    return keeping
