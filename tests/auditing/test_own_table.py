"""Somebody's table and a few words about it: who holds what, what is left out, and the file that is written of it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from fedleak.auditing.own_table import Wishes, draft_text, drafted, holdings_of
from fedleak.auditing.scenario_file import built_in_scenario, load_scenario, parse_scenario
from fedleak.auditing.scenario_text import scenario_text
from fedleak.core.errors import InputError
from fedleak.core.steps import Role

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = "customer_id,opened,income,age,region,visits,basket,country,defaulted,stage,owed"
BOTH = Wishes(target="defaulted", mine="income,age", partners=("region,visits,basket",))


def line(i: int) -> str:
    income = "?" if i == 3 else str(20 + i * 7 % 31)
    basket = "" if i == 4 else f"{i * 0.37:.2f}"
    words = (1000 + i, f"2024-01-{1 + i % 28:02}", income, 20 + i % 40, ("north", "south", "east")[i % 3], i % 9)
    return ",".join(map(str, (*words, basket, "NL", "yes" if i % 4 == 0 else "no", "abc"[i % 3], f"{i / 7:.3f}")))


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "customers.csv"
    path.write_text("\n".join([HEAD, *(line(i) for i in range(60))]) + "\n")
    return path


def draft(table: Path, **changes: object):
    return drafted(str(table), replace(BOTH, **changes))  # type: ignore[arg-type]


def test_a_table_becomes_a_scenario_and_what_was_decided_is_said(table):
    found = draft(table, mine="bank=income,age,opened", settings=("batch_size=8", "initialisation=xavier"))
    scenario = found.scenario
    assert [(party.name, party.role, party.columns) for party in scenario.parties] == [
        ("bank", Role.ACTIVE, ("income", "age")),
        ("partner", Role.PASSIVE, ("region", "visits", "basket")),
    ]
    assert [adversary.parties for adversary in scenario.adversaries] == [("partner",)]
    data = scenario.data
    assert (data.task, data.missing, data.categorical, data.missing_marks) == ("binary", "mean", "one-hot", ("?",))
    assert set(data.drop) == {"customer_id", "opened", "country", "stage", "owed"}
    assert (scenario.settings.batch_size, scenario.settings.initialisation) == (8, "xavier")
    told = "\n".join(found.remarks)
    for words in ("left out: opened, a date", "customer_id, country", "income (1), basket (1): filled", '"?"'):
        assert words in told


@pytest.mark.parametrize(
    ("target", "phase", "protocol", "curious"),
    [
        ("defaulted", "train", "vertical-logistic", ["partner"]),
        ("stage", "train", "secureboost", ["partner"]),
        ("owed", "train", "vertical-linear-arbiter", ["partner", "arbiter"]),
        ("defaulted", "predict", "vertical-prediction", ["our side"]),
    ],
)
def test_the_protocol_follows_from_the_labels(table, target, phase, protocol, curious):
    scenario = draft(table, target=target, phase=phase).scenario
    assert scenario.protocol == protocol
    assert [name for adversary in scenario.adversaries for name in adversary.parties] == curious


def test_the_partner_may_have_the_labels_and_large_tables_are_sampled(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("\n".join([HEAD, *(line(i) for i in range(500))]) + "\n")
    found = draft(path, labels="partner")
    assert {party.name: party.role for party in found.scenario.parties}["partner"] is Role.ACTIVE
    assert found.scenario.data.max_rows == 400
    assert any("400 of its rows" in remark for remark in found.remarks)
    assert draft(path, settings=("max_rows=450",)).scenario.data.max_rows == 450


def test_rows_without_a_label_are_left_out(table):
    table.write_text(table.read_text().replace(",yes,", ",,", 1))
    assert draft(table).scenario.data.missing == "drop"


def test_who_names_nothing_holds_the_rest():
    names = ["a", "b", "c,d", "e=f"]
    assert holdings_of(Wishes(mine="a,b"), names) == {"our side": ["a", "b"], "partner": ["c,d", "e=f"]}
    assert holdings_of(Wishes(partners=('"c,d"',)), names) == {"our side": ["a", "b", "e=f"], "partner": ["c,d"]}
    two = holdings_of(Wishes(mine="bank=a", partners=("b", "e=f")), names)
    assert two == {"bank": ["a"], "partner 1": ["b"], "partner 2": ["e=f"]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": "defaultd"}, "target must be a column"),
        ({"target": None}, "--target must name the column of labels"),
        ({"target": "country"}, "'country' is the same in every row"),
        ({"mine": None, "partners": ()}, "--mine or --partner must say who holds which columns"),
        ({"mine": "incom"}, "must name columns; got 'incom'"),
        ({"mine": "country"}, "our side must hold a column of numbers or categories; country is the same"),
        ({"mine": "visits"}, "'visits' is claimed by"),
        ({"mine": "partner=income"}, "different names"),
        ({"protocol": "horizontal-logistic"}, "different columns of the same people"),
        ({"settings": ("batch_size",)}, "--set must be KEY=VALUE"),
        ({"settings": ("batchsize=3",)}, "batch_size"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(table, changes, words):
    with pytest.raises(InputError) as caught:
        draft(table, **changes)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_file_gives_the_same_scenario_again_from_its_own_folder(table, tmp_path):
    found = draft(table, settings=("batch_size=8",))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "scenario.toml").write_text(draft_text(found, folder))
    again = load_scenario(folder / "scenario.toml")
    assert (folder / again.data.source).resolve() == table
    same = replace(again, folder=found.scenario.folder, data=replace(again.data, source=found.scenario.data.source))
    assert same == found.scenario


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_can_be_written(path):
    scenario = load_scenario(path)
    assert replace(parse_scenario(scenario_text(scenario)), folder=path.parent) == scenario


def test_names_that_toml_would_take_otherwise_are_escaped():
    odd = replace(built_in_scenario(), title='a "b"\\ \x7f\n€ \U0001f600')
    text = scenario_text(odd, ["a remark\n[data]"])
    assert parse_scenario(text) == odd


def test_words_of_wishes_are_those_of_the_command_line():
    wishes = replace(BOTH, labels="partner", phase="predict", settings=("max_rows=3",))
    assert shlex.join(wishes.words) == (
        "--target defaulted --mine income,age --partner region,visits,basket --labels partner --phase predict "
        "--set max_rows=3"
    )
    assert Wishes().words == []


def test_thousands_of_columns_are_told_in_a_line_each(tmp_path):
    path, names = tmp_path / "genes.csv", [f"g{i}" for i in range(60)]
    rows = [",".join(str((i * 7 + j * j) % 11 + i / 50) for j in range(60)) + f",{i % 2}" for i in range(40)]
    path.write_text("\n".join([",".join([*names, "ill"]), *rows]) + "\n")
    told = drafted(str(path), Wishes(target="ill", mine=",".join(names[:40]))).remarks
    assert "our side holds g0, g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11 and 28 more; it has the labels" in told[1]
    assert "partner holds g40, g41, g42, g43, g44, g45, g46, g47, g48, g49, g50, g51 and 8 more" in told


def test_whoever_the_protocol_brings_is_introduced(table):
    told = draft(table, target="owed").remarks[-1]
    assert told == (
        "protocol: vertical-linear-arbiter, with an arbiter, who holds the key and no columns; "
        "curious: partner, arbiter"
    )


@pytest.mark.parametrize("first", ["0,0.5,1", "0,0,0.5"])
def test_a_table_without_a_header_is_told(tmp_path, first):
    path = tmp_path / "bare.csv"
    path.write_text("\n".join([first, *(f"{i},{i / 3:.2f},{i % 2}" for i in range(30))]))
    with pytest.raises(InputError, match=r"Its first line must name the columns, and has numbers"):
        drafted(str(path), Wishes(target="ill", mine="age"))


def test_the_target_is_nobodys_column(table):
    with pytest.raises(InputError, match="must leave the target out; 'defaulted' is whose --labels says"):
        draft(table, mine="income,defaulted")
