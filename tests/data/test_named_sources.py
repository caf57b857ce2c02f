from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError, URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from data_files import require_data
from fedleak.core.errors import DataError
from fedleak.data import load
from fedleak.data.sources.public_sets import PUBLIC_SETS

BREAST_CANCER_CSV = "a,target\n1,0\n2,1\n"


@pytest.mark.parametrize(
    ("name", "n_rows", "n_columns"),
    [("breast_cancer", 569, 30), ("iris", 150, 4), ("wine", 178, 13), ("diabetes", 442, 10), ("digits", 1797, 64)],
)
def test_tables_of_scikit_learn(name: str, n_rows: int, n_columns: int) -> None:
    table = load(f"sklearn:{name}")
    assert (table.n_rows, len(table.columns)) == (n_rows, n_columns)
    assert table.target is not None
    assert table.target.name == "target"
    assert table.source == f"sklearn:{name}"


def test_unknown_table_of_scikit_learn() -> None:
    with pytest.raises(DataError, match=r"got 'brest_cancer'. Did you mean .breast_cancer."):
        load("sklearn:brest_cancer")


def test_own_target_gives_way_to_another_and_can_be_dropped() -> None:
    other = load("sklearn:iris", target="petal width (cm)")
    assert "target" in other.names
    assert load("sklearn:iris", drop=("target",)).target is None


def test_a_bare_name_is_a_file_in_the_folder(data_folder: Path) -> None:
    (data_folder / "ours.csv").write_text("a,b\n1,2\n")
    assert load("ours").names == ("a", "b")


def test_the_folder_comes_before_other_sources(data_folder: Path) -> None:
    (data_folder / "breast_cancer_wdbc.csv").write_text(BREAST_CANCER_CSV)
    table = load("breast_cancer_wdbc")
    assert table.n_rows == 2
    assert table.target is not None
    assert table.target.name == "target"


def test_ones_own_file_may_have_a_public_name_and_no_such_target(data_folder: Path) -> None:
    (data_folder / "iris.csv").write_text("a,b\n1,2\n")
    assert load("iris").target is None


def test_names_do_not_lead_out_of_the_folder(data_folder: Path) -> None:
    (data_folder.parent / "secret.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"nothing is at"):
        load("../secret", folder=data_folder)


@pytest.mark.usefixtures("no_folder")
def test_a_public_set_that_scikit_learn_has_too() -> None:
    assert load("breast_cancer_wdbc").n_rows == 569
    assert load("iris").n_rows == 150


@pytest.mark.usefixtures("no_folder")
def test_a_public_set_that_cannot_be_had() -> None:
    with pytest.raises(DataError, match=r"FEDLEAK_DATA is not set. It is Fish .*159 rows.*GPL-2.*as fish_market.csv"):
        load("fish_market")


def test_an_unknown_name_says_where_it_looked(data_folder: Path) -> None:
    (data_folder / "customers.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r'there is no costumers.csv.gz .* in .*. Did you mean "customers"'):
        load("costumers")
    with pytest.raises(DataError, match=r'Did you mean "sklearn:breast_cancer"'):
        load("breast_cancer")
    with pytest.raises(DataError, match=r"there is no fish_market"):
        load("fish_market")


def test_a_file_of_the_folder_goes_by_its_bare_name(data_folder: Path) -> None:
    (data_folder / "customers.csv").write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(DataError, match=r"nothing is at .*customers.csv. Write 'customers' for .* FEDLEAK_DATA"):
        load("customers.csv")
    with pytest.raises(DataError, match=r"nothing is at .*customers.tsv$"):
        load("customers.tsv")


def test_the_folder_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FEDLEAK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"FEDLEAK_DATA must name a folder"):
        load("iris")


def _openml_answers(monkeypatch: pytest.MonkeyPatch, answer: object) -> list[dict[str, object]]:
    asked: list[dict[str, object]] = []

    def fetch(**query: object) -> object:
        asked.append(query)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return asked


def _bunch(target: str) -> SimpleNamespace:
    frame = pd.DataFrame({"x1": [1, 2], target: pd.Categorical(["0", "1"])})
    return SimpleNamespace(
        frame=frame, target_names=[target], details={"id": "42477", "name": "default-of-clients", "version": "1"}
    )


def test_openml_by_id_and_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _openml_answers(monkeypatch, _bunch("y"))
    table = load("openml:42477")
    assert asked[0]["data_id"] == 42477
    assert table.source == "openml:42477 (default-of-clients, v1)"
    assert table.target is not None
    assert table.target.values.tolist() == ["0", "1"]
    load("openml:credit-g")
    assert asked[1]["name"] == "credit-g"
    with pytest.raises(DataError, match=r'must be "openml:NAME" or "openml:ID"'):
        load("openml:")


@pytest.mark.usefixtures("no_folder")
def test_a_public_set_over_the_network_has_its_usual_target(monkeypatch: pytest.MonkeyPatch) -> None:
    _openml_answers(monkeypatch, _bunch("y"))
    table = load("credit_default")
    assert table.source.startswith("credit_default, from openml:42477")
    assert table.target is not None
    assert table.target.name == "default"


@pytest.mark.usefixtures("no_folder")
def test_without_a_network_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _openml_answers(monkeypatch, URLError("Name or service not known"))
    with pytest.raises(
        DataError, match=r"openml:31 needs a network.*download the table, then give its path.*FEDLEAK_DATA"
    ):
        load("openml:31")
    with pytest.raises(DataError, match=r"credit_default: FEDLEAK_DATA is not set, and openml:42477 needs a network"):
        load("credit_default")


def test_what_openml_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    _openml_answers(monkeypatch, ValueError("No active dataset nosuch found."))
    with pytest.raises(DataError, match=r"No active dataset nosuch"):
        load("openml:nosuch")
    with io.BytesIO() as body:
        _openml_answers(monkeypatch, HTTPError("url", 404, "Not Found", None, body))  # type: ignore[arg-type]
        with pytest.raises(DataError, match=r"answered 404 Not Found"):
            load("openml:99999999")


@pytest.mark.parametrize(
    ("name", "n_rows", "n_columns"),
    [
        ("bank_additional_full", 41188, 20),
        ("boston_housing", 506, 13),
        ("breast_cancer_wdbc", 569, 30),
        ("breast_cancer_wpbc", 198, 34),
        ("credit_default", 30000, 23),
        ("fish_market", 159, 6),
        ("iris", 150, 4),
        ("motor_temperature", 15147, 12),
        ("online_news", 39000, 59),
        ("residential_building", 372, 108),
        ("sensorless_drive", 2200, 48),
        ("vehicle_scale", 846, 18),
        ("wine_quality_red", 1599, 11),
    ],
)
def test_public_tables(name: str, n_rows: int, n_columns: int) -> None:
    require_data(name)
    table = load(name)
    assert (table.n_rows, len(table.columns)) == (n_rows, n_columns)
    assert table.target is not None
    assert table.target.name == PUBLIC_SETS[name].target


def test_the_files_copy_of_a_bundled_table_is_the_bundled_table() -> None:
    require_data("breast_cancer_wdbc")
    ours, theirs = load("breast_cancer_wdbc"), load("sklearn:breast_cancer")
    assert ours.names == theirs.names
    for left, right in zip(ours.columns, theirs.columns, strict=True):
        assert np.array_equal(left.values, right.values)


def test_importing_the_package_stays_light() -> None:
    code = "import sys, fedleak.data; print([m for m in ('pandas', 'sklearn', 'scipy', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
