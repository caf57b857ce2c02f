"""The recording point at an NVFLARE site: a filter that keeps what passes, and passes it on unchanged."""

from __future__ import annotations

from typing import Any

from nvflare.apis.dxo import from_shareable
from nvflare.apis.filter import Filter

from fedleak.frameworks.averaged_clients import job_of_client, keep

WEIGHTS = "numpy_key"


class KeepingFilter(Filter):  # type: ignore[misc]
    """``what``: model for tasks that come in, sent for results that go out."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def process(self, shareable: Any, fl_ctx: Any) -> Any:
        names = [party.name for party in job_of_client().parties]
        number = int(shareable.get_header("current_round"))
        keep(self.what, number, names.index(fl_ctx.get_identity_name()), from_shareable(shareable).data[WEIGHTS])
        return shareable
