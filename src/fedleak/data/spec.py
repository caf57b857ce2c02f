"""What a user says about the data: the keys of a scenario's ``[data]`` table, each with its meaning."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Literal, get_args

from fedleak.core.errors import DataError, listed, nearest
from fedleak.core.whole.federation import setting

TaskName = Literal["binary", "multiclass", "regression", "none"]
MissingPolicy = Literal["error", "mean", "drop", "keep"]
ScalingName = Literal[
    "none",
    "standard",
    "minmax",
    "pixels",
    "max-row-norm",
    "standard+max-row-norm",
    "minmax+max-row-norm",
    "pixels+max-row-norm",
]
TargetScaling = Literal["none", "standard"]
CategoricalMode = Literal["ordinal", "one-hot"]


@dataclass(frozen=True, kw_only=True)
class EncodingOptions:
    """How a raw table becomes numbers."""

    task: TaskName = setting(
        "binary",
        "what the labels are: two classes (0/1), several classes (0, 1, 2, ...), numbers, or no labels at all",
        choices=get_args(TaskName),
    )
    positive: str | int | float | None = setting(
        None,
        "the class that becomes 1 in a binary task, all others becoming 0; by default the last of exactly two "
        "classes in sorted order",
    )
    classes: tuple[str | int | float, ...] = setting(
        (), "keep only the rows whose target is one of these classes; by default all rows"
    )
    missing: MissingPolicy = setting(
        "error",
        "what a missing cell does: stop with an error; be filled with its column's mean (integers: rounded mean; "
        "categories and two-valued columns: the most frequent value); drop its row; or stay missing, for "
        "protocols that can do with it (secureboost)",
        choices=get_args(MissingPolicy),
    )
    scaling: ScalingName = setting(
        "standard",
        "how columns are scaled: mean 0 and standard deviation 1; to [0, 1]; pixels of images by the highest that a "
        "pixel may be; all rows divided by one constant so that the longest row has 2-norm 1; or one after the other",
        choices=get_args(ScalingName),
    )
    target_scaling: TargetScaling = setting(
        "none",
        "how the labels of a regression are scaled: as they are, or mean 0 and standard deviation 1, without which a "
        "model that has no intercept does not fit them",
        choices=get_args(TargetScaling),
    )
    categorical: CategoricalMode = setting(
        "ordinal",
        "how a column of categories becomes numbers: one column of codes 0, 1, 2, ... in sorted order, or one 0/1 "
        "column for each category (two categories: a single 0/1 column either way)",
        choices=get_args(CategoricalMode),
    )
    categorical_columns: tuple[str, ...] = setting(
        (), "columns to treat as categories although they hold numbers; columns of texts always are"
    )
    max_rows: int | None = setting(
        None, "keep at most this many rows, evenly spread over the table; by default all rows", unit="rows"
    )


@dataclass(frozen=True, kw_only=True)
class DataSpec(EncodingOptions):
    """Which table, and how it becomes numbers."""

    source: str = setting(
        MISSING,
        'where the table is: "sklearn:NAME", "openml:NAME" or "openml:ID", the path of a .csv, .csv.gz, .tsv, '
        ".tsv.gz, .parquet or .npz file, or the bare name of a file in the folder FEDLEAK_DATA; images in an .npz "
        "file become a table with a column a pixel, named by row, column and channel",
    )
    target: str | None = setting(
        None, "the column that holds the labels; may be left out where the data set has a target of its own"
    )
    drop: tuple[str, ...] = setting((), "columns to leave out, such as row identifiers")
    missing_marks: tuple[str, ...] = setting(
        (), 'texts that mean a missing cell, besides the empty cell and the usual NA, NaN and null; for example "?"'
    )


def check_options(options: object) -> None:
    """Every field that declares choices holds one of them."""
    for field in fields(options):  # type: ignore[arg-type]
        choices: tuple[str, ...] = field.metadata.get("choices", ())
        value = getattr(options, field.name)
        if choices and value not in choices:
            raise DataError(
                f"{field.name} must be one of {listed(choices)}; got {value!r}{nearest(str(value), choices)}"
            )


def check_encoding_options(options: EncodingOptions) -> None:
    check_options(options)
    if options.max_rows is not None and options.max_rows < 1:
        raise DataError(f"max_rows must be at least 1; got {options.max_rows}")
    if options.positive is not None and options.task != "binary":
        raise DataError(f'positive must be left out unless task = "binary"; got it with task = "{options.task}"')
    if options.classes and options.task in ("regression", "none"):
        raise DataError(
            f'classes must be left out unless task is "binary" or "multiclass"; got them with task = "{options.task}"'
        )
