"""Data sets by name: public ones in the folder FEDLEAK_DATA, and openml.org."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from fedleak.core.errors import DataError, nearest
from fedleak.data.sources.bundled import BUNDLED_NAMES
from fedleak.data.sources.public_sets import PUBLIC_SETS

if TYPE_CHECKING:
    import pandas as pd

FOLDER_VARIABLE = "FEDLEAK_DATA"
SUFFIXES = (".csv.gz", ".csv", ".tsv.gz", ".tsv", ".parquet", ".npz")


def public_target(name: str) -> str | None:
    """The usual target of a public set, also when it is asked for by the name of its file."""
    for entry in PUBLIC_SETS.values():
        if name in entry.file_stems:
            return entry.target
    return None


def find_in_folder(name: str) -> Path | None:
    """The set's file in FEDLEAK_DATA; None if the variable is unset or the folder lacks the set."""
    folder = data_folder()
    if folder is None:
        return None
    stems = PUBLIC_SETS[name].file_stems if name in PUBLIC_SETS else (name,)
    candidates = (folder / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)


def data_folder() -> Path | None:
    value = os.environ.get(FOLDER_VARIABLE, "")
    if not value:
        return None
    folder = Path(value)
    if not folder.is_dir():
        raise DataError(f"{FOLDER_VARIABLE} must name a folder; got {value!r}")
    return folder


def where_it_looked(name: str) -> str:
    folder = data_folder()
    if folder is None:
        return f"{FOLDER_VARIABLE} is not set"
    return f"there is no {name}.csv.gz (or {', '.join(SUFFIXES[1:])}) in {folder}"


def not_found(name: str) -> DataError:
    """The error for a bare name that is neither in the folder nor anywhere else."""
    looked = where_it_looked(name)
    if name in PUBLIC_SETS:
        return DataError(
            f"data source {name!r} must be a file in the folder that {FOLDER_VARIABLE} names; {looked}. "
            f"{PUBLIC_SETS[name].how_to_get(FOLDER_VARIABLE)}"
        )
    known = {*PUBLIC_SETS, *(f"sklearn:{bundled}" for bundled in BUNDLED_NAMES)}
    folder = data_folder()
    if folder is not None:
        known |= {entry.name.split(".")[0] for entry in folder.iterdir()}
    hint = f'. Did you mean "sklearn:{name}"?' if name in BUNDLED_NAMES else nearest(name, known)
    return DataError(
        f'data source must be a file, "sklearn:NAME", "openml:NAME" or a public name; got {name!r}, and {looked}{hint}'
    )


WITHOUT_NETWORK = "download the table, then give its path, or put it into the folder that FEDLEAK_DATA names"


def openml_frame(reference: str) -> tuple[pd.DataFrame, str | None, str]:
    """The table, its own target (None if it has no single one), and its exact id and version."""
    from urllib.error import HTTPError

    from sklearn import datasets

    key: dict[str, object] = {"data_id": int(reference)} if reference.isdecimal() else {"name": reference}
    if not reference:
        raise DataError('an OpenML source must be "openml:NAME" or "openml:ID"; got "openml:"')
    try:
        with warnings.catch_warnings():
            # Which of several versions was taken is kept in the exact name; retries need no notice.
            warnings.simplefilter("ignore")
            bunch = datasets.fetch_openml(**key, as_frame=True, parser="auto", n_retries=1, delay=0.5)
    except HTTPError as error:
        raise DataError(
            f"openml:{reference} must be a data set on openml.org; it answered {error.code} {error.reason}"
        ) from error
    except OSError as error:  # URLError and TimeoutError are kinds of it
        raise DataError(
            f"openml:{reference} needs a network, and there is none ({_first_line_of(error)}); {WITHOUT_NETWORK}"
        ) from error
    except ValueError as error:  # unknown name or id, or a sparse table that cannot become a frame
        raise DataError(
            f"openml:{reference} must be a dense table on openml.org; got: {_first_line_of(error)}"
        ) from error
    targets = list(bunch.target_names or [])
    details = bunch.details or {}
    exact = f"openml:{details.get('id', reference)} ({details.get('name', reference)}, v{details.get('version', '?')})"
    return bunch.frame, targets[0] if len(targets) == 1 else None, exact


def _first_line_of(error: BaseException) -> str:
    reason = getattr(error, "reason", None) or error
    return (str(reason).strip().splitlines() or [type(error).__name__])[0]
