"""The small tables that ship with scikit-learn: no file, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedleak.core.errors import DataError
from fedleak.core.hints import nearest

if TYPE_CHECKING:
    import pandas as pd

BUNDLED_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "wine")
BUNDLED_TARGET = "target"


def bundled_frame(name: str) -> pd.DataFrame:
    """The table with its labels in the column ``target``."""
    if name not in BUNDLED_NAMES:
        raise DataError(
            f"a scikit-learn table must be one of {', '.join(BUNDLED_NAMES)}; got {name!r}"
            f"{nearest(name, BUNDLED_NAMES)}"
        )
    from sklearn import datasets

    frame: pd.DataFrame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return frame
