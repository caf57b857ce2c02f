"""Batches beyond every party's columns (Hu et al. 2022, sections 3 and 5)."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.errors import InputError
from fedleak.core.federation import Federation
from fedleak.core.settings import setting


@dataclass(frozen=True)
class LargerBatch(Defense):
    """Leaves every honest party with fewer equations than rows. A party that packs its products undoes it."""

    name = "larger-batch"
    summary = "raises the batch size above every party's number of columns"
    reference = Reference("hu2022", "sections 3 and 5")
    changes = frozenset({"batch_size"})

    batch_size: int = setting(0, "rows of a batch; twice the columns of the widest party if 0", unit="rows")

    def __post_init__(self) -> None:
        if self.batch_size < 0:
            raise InputError(f"batch_size of larger-batch must be 0 or more; got {self.batch_size}")

    def configure(self, federation: Federation) -> Federation:
        widest = max(len(party.columns) for party in federation.parties)
        n_rows = max(len(party.train.ids) for party in federation.parties)
        # Never below what is set: without data nothing may be known of the columns.
        wanted = self.batch_size or max(2 * widest, getattr(federation.settings, "batch_size", 0))
        return federation.with_settings(batch_size=min(wanted, n_rows) if n_rows else wanted)
