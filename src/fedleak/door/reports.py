"""Reports that an audit wrote."""

from __future__ import annotations

import os
from pathlib import Path

from fedleak.core.report import Report
from fedleak.report import json_format
from fedleak.report.finding_journal import JOURNAL, recall

REPORT, PAGE = "report.json", "report.html"


def load_report(path: str | os.PathLike[str]) -> Report:
    """The report of a ``report.json``, or of the folder that an audit wrote; safe on files from strangers.

    Of an audit that did not come to its end, what it had found until then.
    """
    place = Path(path)
    if place.name == JOURNAL or (not (place / REPORT).exists() and (place / JOURNAL).exists()):
        return recall(place if place.name == JOURNAL else place / JOURNAL).report
    return json_format.read(place / REPORT if place.is_dir() else place)
