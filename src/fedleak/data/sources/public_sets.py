"""Public data sets that the papers use: under which name, how large, by whose leave, and where to get them."""

from __future__ import annotations

from dataclasses import dataclass

UCI = "archive.ics.uci.edu"
CC_BY = "CC BY 4.0"


@dataclass(frozen=True)
class PublicSet:
    """``stems`` are other file names, without suffix; ``elsewhere`` is a source that fetches it by itself."""

    name: str
    title: str
    target: str | None = None
    stems: tuple[str, ...] = ()
    elsewhere: str | None = None
    size: str = ""  # as the papers use it
    licence: str = CC_BY
    publisher: str = UCI
    ending: str = ".csv"

    @property
    def file_stems(self) -> tuple[str, ...]:
        return (self.name, *self.stems)

    def how_to_get(self, variable: str) -> str:
        """What it is, and what to do to have it, in one sentence; ``variable`` names the folder."""
        return (
            f"It is {self.title} ({self.size}; licence: {self.licence}), published at {self.publisher}: save it as "
            f"{self.name}{self.ending} (target: {self.target or 'none'}) and set {variable} to the folder it is in, or "
            "give the file's path"
        )


BANK = "UCI Bank Marketing (bank-additional-full)"
BANK_SIZE = "41,188 rows of 20 columns, 6 MB"
PUBLIC_SETS = {
    entry.name: entry
    for entry in (
        PublicSet("bank_marketing", BANK, "y", ("bank_additional_full",), size=BANK_SIZE),
        PublicSet("bank_additional_full", BANK, "y", size=BANK_SIZE),
        PublicSet(
            "boston_housing", "Boston housing (StatLib)", "MEDV", elsewhere="openml:531",
            size="506 rows of 13 columns, 50 kB", licence="none stated", publisher="lib.stat.cmu.edu/datasets/boston",
        ),
        PublicSet(
            "breast_cancer_wdbc", "UCI Breast Cancer Wisconsin Diagnostic", "target",
            elsewhere="sklearn:breast_cancer", size="569 rows of 30 columns, 0.1 MB",
        ),
        PublicSet(
            "breast_cancer_wpbc", "UCI Breast Cancer Wisconsin Prognostic", "outcome",
            size="198 rows of 33 columns, 45 kB",
        ),
        PublicSet(
            "cifar10_subset", "CIFAR-10 (Krizhevsky 2009)", "y", size="10,000 pictures of 32 x 32 x 3, 30 MB",
            licence="none stated, research use", publisher="www.cs.toronto.edu/~kriz/cifar.html", ending=".npz",
        ),
        PublicSet(
            "credit_default", "UCI Default of Credit Card Clients", "default", elsewhere="openml:42477",
            size="30,000 rows of 23 columns, 5 MB",
        ),
        PublicSet(
            "fish_market", "Fish market (Brofeldt 1917)", "Weight", size="159 rows of 6 columns, 6 kB",
            licence="GPL-2", publisher="www.kaggle.com (Fish market)",
        ),
        PublicSet("iris", "UCI Iris", "target", elsewhere="sklearn:iris", size="150 rows of 4 columns, 5 kB"),
        PublicSet(
            "mnist", "MNIST (LeCun, Cortes, Burges)", "y", size="70,000 pictures of 28 x 28, 11 MB",
            licence="CC BY-SA 3.0", publisher="yann.lecun.com/exdb/mnist", ending=".npz",
        ),
        PublicSet(
            "motor_temperature", "Electric Motor Temperature (Paderborn LEA)", "pm", ("motor_temperature_sample15k",),
            size="998,070 rows of 12 columns, 130 MB; a sample of 15,000 is enough", licence="CC BY-SA 4.0",
            publisher="www.kaggle.com (wkirgsn/electric-motor-temperature)",
        ),
        PublicSet(
            "online_news", "UCI Online News Popularity", "shares", elsewhere="openml:4545",
            size="39,644 rows of 59 columns, 24 MB",
        ),
        PublicSet("residential_building", "UCI Residential Building", "V9", size="372 rows of 107 columns, 0.5 MB"),
        PublicSet(
            "sensorless_drive", "UCI Sensorless Drive Diagnosis", "label", ("sensorless_drive_sample2200",),
            size="58,509 rows of 48 columns, 26 MB; 200 rows a class are enough",
        ),
        PublicSet(
            "vehicle_scale", "Statlog Vehicle Silhouettes (LIBSVM vehicle.scale)", "y",
            size="846 rows of 18 columns, 0.1 MB", publisher="www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets",
        ),
        PublicSet(
            "wheat_dart_markers", "CIMMYT wheat DArT markers (Crossa et al. 2010)",
            size="599 rows of 1,279 columns, 0.2 MB", licence="GPL-3", publisher="the R package BGLR", ending=".npz",
        ),
        PublicSet(
            "wine_quality_red", "UCI Wine Quality, red", "quality", elsewhere="openml:40691",
            size="1,599 rows of 11 columns, 0.1 MB",
        ),
        PublicSet(
            "yale_faces", "Yale Face Database, 32 x 32", "y", ("yale_faces_32x32",), size="165 pictures, 0.2 MB",
            licence="non-commercial research use; real people", publisher="cvc.cs.yale.edu", ending=".npz",
        ),
    )
}  # fmt: skip
