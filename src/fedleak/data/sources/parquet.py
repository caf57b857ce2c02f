"""Parquet files, through the optional package pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fedleak.core.errors import DataError, MissingExtraError
from fedleak.data.sources import files

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "parquet", f"reading {path}") from error
    try:
        with pq.ParquetFile(path) as file:
            _check_size(path, file.metadata)
            table = file.read()
        table.validate(full=True)  # texts that are not UTF-8 would otherwise surface wherever they are first looked at
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} must be a Parquet file; got: {first_line}") from error
    return frame


def _check_size(path: Path, metadata: object) -> None:
    """Before anything is decompressed: the sizes that the file declares, and a cell count, since a run of equal cells
    takes next to nothing in the file but eight bytes each in memory."""
    n_groups: int = metadata.num_row_groups  # type: ignore[attr-defined]
    n_bytes = sum(metadata.row_group(i).total_byte_size for i in range(n_groups))  # type: ignore[attr-defined]
    n_cells: int = metadata.num_rows * metadata.num_columns  # type: ignore[attr-defined]
    if max(n_bytes, 8 * n_cells) > files.MAX_FILE_BYTES:
        raise DataError(
            f"{path} must hold at most {files.MAX_FILE_BYTES:,} bytes once decompressed; "
            f"it declares {max(n_bytes, 8 * n_cells):,}. Give a sample of its rows"
        )
