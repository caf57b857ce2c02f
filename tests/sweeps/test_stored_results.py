"""What a store answers: tables, groups, two versions, files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import pandas as pd
import pytest
from grids import GRID, written

from fedleak.cli.results import results_command
from fedleak.core.errors import ExitCode, InputError
from fedleak.sweeps.grid import load_grid
from fedleak.sweeps.queried import by, chosen_code, compared, where
from fedleak.sweeps.store import Store
from fedleak.sweeps.swept import Planned


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two versions of the code: of the second, noise no longer helps in one cell and another cell is not there."""
    folder = tmp_path_factory.mktemp("store")
    planned = Planned(load_grid(written(folder, GRID.replace("[0, 1, 2]", "[0]"))).cells()[0])
    store = Store(folder / "out", new=True)
    store.call(planned.called)
    (plain, plain_done), (noisy, noisy_done) = [
        (planned.inputs[key], work.do(planned.tables[work.shared])) for key, work in planned.works.items()
    ]
    for inputs, done in ((plain, plain_done), (noisy, noisy_done)):
        store.keep(inputs, replace(done, code="0.1.0+aaa"))
    found = json.loads(noisy_done.report)
    leak = json.loads(plain_done.report)["findings"][0]
    found["findings"][0] = {**leak, "defense": found["findings"][0]["defense"]}
    store.keep(noisy, replace(noisy_done, report=json.dumps(found, sort_keys=True), code="0.1.0+bbb"))
    return store


def test_findings_are_chosen_and_counted(store):
    rows = store.findings(chosen_code(store, "aaa"))
    assert [(row["seed"], row["attack"], row["defense"], row["outcome"]) for row in rows] == [
        ("0", "residual-sign", None, "leak"),
        ("0", "residual-sign", "gaussian-noise(sigma=200.0)", "no_leak"),
    ]
    assert rows[0]["secret"] == "labels of bank"
    assert [row["outcome"] for row in where(rows, ["defense=none", "seed=0"])] == ["leak"]
    (group,) = by(rows, ["attack"])
    assert (group["findings"], group["decided"], group["leaks"], group["metric"]) == (2, 2, 1, "auc")
    assert group["value"] == pytest.approx((rows[0]["value"] + rows[1]["value"]) / 2)


def test_two_versions_beside_each_other_show_the_leak_that_opened(store, capsys):
    found = compared(store, "0.1.0+aaa", "0.1.0+bbb")
    assert (found.n_same, found.n_other, found.only_old, found.only_new) == (0, 1, 1, 0)
    ((setting, change),) = found.changes
    assert setting["defense"] == "gaussian-noise(sigma=200.0)"
    assert change.change.value == "opened"
    assert results_command(store.path, (), (), None, "aaa", None, None) is ExitCode.DONE
    assert "opened: adversary = fintech" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "read"), [("a.csv", pd.read_csv), ("a.json", pd.read_json), ("a.parquet", pd.read_parquet)]
)
def test_files_hold_every_finding(store, tmp_path, name, read):
    results_command(store.path, (), (), "aaa", None, tmp_path / name, None)
    frame = read(tmp_path / name)
    rows = store.findings("0.1.0+aaa")
    assert list(frame["outcome"]) == ["leak", "no_leak"]
    assert list(frame["value"]) == pytest.approx([row["value"] for row in rows], rel=1e-12)
    assert list(frame.columns) == list(rows[0])


HOSTILE = {
    "text that is none": "UPDATE results SET code = CAST(x'e1ff' || code AS TEXT)",
    "no JSON": "UPDATE settings SET setting = '{'",
    "no object": "UPDATE settings SET setting = '[1]'",
    "no list of parties": "UPDATE results SET report = replace(report, '[\"fintech\"]', '7')",
    "tables that compute": "ALTER TABLE results RENAME TO hidden; CREATE VIEW results AS SELECT * FROM hidden",
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_somebody_elses_store_is_read_or_refused_in_one_line(store, tmp_path, change):
    path = tmp_path / "store.sqlite"
    copyfile(store.path, path)
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(change)
    with pytest.raises(InputError, match="the store must") as told:
        results_command(path, (), (), None, None, None, None)
    assert "\n" not in str(told.value)


def test_what_a_file_says_findings_are_is_not_asked(store, tmp_path):
    path = tmp_path / "store.sqlite"
    copyfile(store.path, path)
    endless = "WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more) SELECT n FROM more"
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(f"DROP VIEW findings; CREATE VIEW findings AS {endless}")
    assert Store(path).findings("0.1.0+aaa") == store.findings("0.1.0+aaa")


def test_mistakes_are_one_line(store, tmp_path):
    with pytest.raises(InputError, match="must be a folder or file that a sweep wrote"):
        Store(tmp_path / "nothing")
    (tmp_path / "text.sqlite").write_text("no store at all, but long enough for a header of SQLite" * 9)
    with pytest.raises(InputError, match="must be a SQLite file"):
        Store(tmp_path / "text.sqlite")
    with pytest.raises(InputError, match=r"unknown key 'atack'. Did you mean \"attack\"\?"):
        where(store.findings("0.1.0+aaa"), ["atack=x"])
    with pytest.raises(InputError, match="--where must be KEY=VALUE"):
        where(store.findings("0.1.0+aaa"), ["attack"])
    with pytest.raises(InputError, match=r"--to must end in \.csv, \.json, \.parquet"):
        results_command(store.path, (), (), None, None, tmp_path / "a.xls", None)
    with pytest.raises(InputError, match=r'got \'zzz\'. Known: "0.1.0\+aaa", "0.1.0\+bbb"'):
        chosen_code(store, "zzz")


def test_a_report_that_is_no_text_is_refused_in_one_line(tmp_path):
    """Found by a mutated store."""
    seed = Path(__file__).parents[1] / "fuzz_seeds" / "store.sqlite"
    path = tmp_path / "store.sqlite"
    path.write_bytes(seed.read_bytes())
    with closing(sqlite3.connect(path)) as opened, opened:
        opened.execute("UPDATE results SET report = x'00ff'")
    store = Store(path)
    with pytest.raises(InputError, match="a report must be text; got bytes"):
        store.reports(chosen_code(store, None))
