"""What parties of a captured run hold, in their own records and in the truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.frameworks.job import Held
from fedleak.recorder import Recorder


def record_tables(recorder: Recorder, parties: Sequence[Held]) -> None:
    for party in parties:
        labels = None if party.labels is None else np.asarray(party.labels)[:, None]
        recorder.record(party.name, "features", party.cells, ids=party.ids, columns=party.columns)
        if labels is not None:
            recorder.record(party.name, "labels", labels, ids=party.ids)
        recorder.truth(party.name, party.cells, ids=party.ids, columns=party.columns, labels=labels)
