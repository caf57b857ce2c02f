"""Tables from openml.org, through scikit-learn's client and its cache."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from urllib.error import HTTPError

from fedleak.core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

REMEDY = "download the table, then give its path, or put it into the folder that FEDLEAK_DATA names"


def openml_frame(reference: str) -> tuple[pd.DataFrame, str | None, str]:
    """The table, its own target (None if it has no single one), and its exact id and version."""
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
        raise DataError(f"openml:{reference} needs a network, and there is none ({_short(error)}); {REMEDY}") from error
    except ValueError as error:  # unknown name or id, or a sparse table that cannot become a frame
        raise DataError(f"openml:{reference} must be a dense table on openml.org; got: {_short(error)}") from error
    targets = list(bunch.target_names or [])
    details = bunch.details or {}
    exact = f"openml:{details.get('id', reference)} ({details.get('name', reference)}, v{details.get('version', '?')})"
    return bunch.frame, targets[0] if len(targets) == 1 else None, exact


def _short(error: BaseException) -> str:
    reason = getattr(error, "reason", None) or error
    return (str(reason).strip().splitlines() or [type(error).__name__])[0]
