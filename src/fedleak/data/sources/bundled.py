"""Tables that ship with scikit-learn, read from its files: to import it takes a second, as long as a small audit.

The files do not name their columns. Where a file is not found, or scikit-learn changes what it holds, it is asked
itself.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import DataError, nearest
from fedleak.data.raw_table import Pixels

if TYPE_CHECKING:
    import pandas as pd

BUNDLED_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "wine")
BUNDLED_TARGET = "target"
BUNDLED_PIXELS = {"digits": Pixels((8, 8, 1), 16)}  # scikit-learn's digits are small pictures

_OF_A_NUCLEUS = [
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
]
_OF_A_WINE = [
    "alcohol",
    "malic_acid",
    "ash",
    "alcalinity_of_ash",
    "magnesium",
    "total_phenols",
    "flavanoids",
    "nonflavanoid_phenols",
    "proanthocyanins",
    "color_intensity",
    "hue",
    "od280/od315_of_diluted_wines",
    "proline",
]
_FILES = {
    "breast_cancer": (
        "breast_cancer.csv",
        [pattern.format(name) for pattern in ("mean {}", "{} error", "worst {}") for name in _OF_A_NUCLEUS],
    ),
    "digits": ("digits.csv.gz", [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]),
    "iris": (
        "iris.csv",
        [f"{part} {measure} (cm)" for part in ("sepal", "petal") for measure in ("length", "width")],
    ),
    "wine": ("wine_data.csv", _OF_A_WINE),
}


def bundled_frame(name: str) -> pd.DataFrame:
    """The table with its labels in the column ``target``."""
    if name not in BUNDLED_NAMES:
        raise DataError(
            f"a scikit-learn table must be one of {', '.join(BUNDLED_NAMES)}; got {name!r}"
            f"{nearest(name, BUNDLED_NAMES)}"
        )
    cells = _cells(name)
    return _from_scikit_learn(name) if cells is None else _frame(cells, _FILES[name][1])


def _cells(name: str) -> FloatArray | None:
    """Columns and labels; None where there is no such file, or not of this width."""
    package = find_spec("sklearn")
    if name not in _FILES or package is None or not package.submodule_search_locations:
        return None
    file, names = _FILES[name]
    path = Path(package.submodule_search_locations[0]) / "datasets" / "data" / file
    try:
        # Some begin with a line of sizes and names of classes.
        found = np.loadtxt(path, delimiter=",", skiprows=int(not file.startswith("digits")), ndmin=2)
    except (OSError, ValueError):
        return None
    return found if found.shape[1] == len(names) + 1 else None


def _frame(cells: FloatArray, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(cells[:, :-1], columns=names)
    frame[BUNDLED_TARGET] = cells[:, -1].astype(np.int64)
    return frame


def _from_scikit_learn(name: str) -> pd.DataFrame:
    from sklearn import datasets

    frame: pd.DataFrame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return frame
