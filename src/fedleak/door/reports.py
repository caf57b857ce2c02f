"""Reports that an audit wrote."""

from __future__ import annotations

import os
from pathlib import Path

from fedleak.core.report import Report
from fedleak.report import json_format

REPORT = "report.json"


def load_report(path: str | os.PathLike[str]) -> Report:
    """The report of a ``report.json``, or of the folder that an audit wrote; safe on files from strangers."""
    place = Path(path)
    return json_format.read(place / REPORT if place.is_dir() else place)
