"""Public data sets by bare name: a file of that name in the folder FEDLEAK_DATA, or else its public home."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fedleak.core.errors import DataError
from fedleak.core.hints import nearest
from fedleak.data.sources.bundled import BUNDLED_NAMES

FOLDER_VARIABLE = "FEDLEAK_DATA"
SUFFIXES = (".csv.gz", ".csv", ".tsv.gz", ".tsv", ".parquet", ".npz")


@dataclass(frozen=True)
class PublicSet:
    """A data set that papers use. ``stems`` are file names without suffix, ``elsewhere`` another source of it."""

    name: str
    title: str
    target: str | None = None
    stems: tuple[str, ...] = ()
    elsewhere: str | None = None

    @property
    def file_stems(self) -> tuple[str, ...]:
        return (self.name, *self.stems)


PUBLIC_SETS = {
    entry.name: entry
    for entry in (
        PublicSet("bank_marketing", "UCI Bank Marketing (bank-additional-full)", "y", ("bank_additional_full",)),
        PublicSet("bank_additional_full", "UCI Bank Marketing (bank-additional-full)", "y"),
        PublicSet("boston_housing", "Boston housing (StatLib)", "MEDV", elsewhere="openml:531"),
        PublicSet(
            "breast_cancer_wdbc", "UCI Breast Cancer Wisconsin Diagnostic", "target", elsewhere="sklearn:breast_cancer"
        ),
        PublicSet("breast_cancer_wpbc", "UCI Breast Cancer Wisconsin Prognostic", "outcome"),
        PublicSet("cifar10_subset", "CIFAR-10 (Krizhevsky 2009)", "y"),
        PublicSet("credit_default", "UCI Default of Credit Card Clients", "default", elsewhere="openml:42477"),
        PublicSet("fish_market", "Fish market (Brofeldt 1917)", "Weight"),
        PublicSet("iris", "UCI Iris", "target", elsewhere="sklearn:iris"),
        PublicSet("mnist", "MNIST (LeCun, Cortes, Burges)", "y"),
        PublicSet("motor_temperature", "Electric Motor Temperature", "pm", ("motor_temperature_sample15k",)),
        PublicSet("online_news", "UCI Online News Popularity", "shares", elsewhere="openml:4545"),
        PublicSet("residential_building", "UCI Residential Building", "V9"),
        PublicSet("sensorless_drive", "UCI Sensorless Drive Diagnosis", "label", ("sensorless_drive_sample2200",)),
        PublicSet("vehicle_scale", "Statlog Vehicle Silhouettes (LIBSVM vehicle.scale)", "y"),
        PublicSet("wheat_dart_markers", "CIMMYT wheat DArT markers (Crossa et al. 2010)"),
        PublicSet("wine_quality_red", "UCI Wine Quality, red", "quality", elsewhere="openml:40691"),
        PublicSet("yale_faces", "Yale Face Database, 32 x 32", "y", ("yale_faces_32x32",)),
    )
}


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
            f"Download {PUBLIC_SETS[name].title} and put it there under that name, or give the file's path"
        )
    known = {*PUBLIC_SETS, *(f"sklearn:{bundled}" for bundled in BUNDLED_NAMES)}
    folder = data_folder()
    if folder is not None:
        known |= {entry.name.split(".")[0] for entry in folder.iterdir()}
    hint = f'. Did you mean "sklearn:{name}"?' if name in BUNDLED_NAMES else nearest(name, known)
    return DataError(
        f'data source must be a file, "sklearn:NAME", "openml:NAME" or a public name; got {name!r}, and {looked}{hint}'
    )
