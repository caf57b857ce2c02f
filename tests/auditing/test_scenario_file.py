"""Scenario files: what is wrong is said in one line, with the place and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedleak.auditing.planner import plan_audit
from fedleak.auditing.scenario_file import built_in_scenario, load_scenario, parse_scenario
from fedleak.core.errors import InputError, ScenarioError
from scenarios import SMALL, changed

MISTAKES = [
    ("epochs = 4", "epoch = 4", r"federation: unknown key 'epoch'. Did you mean \"epochs\"\?"),
    ("batch_size = 8", 'batch_size = "8"', "federation.batch_size must be a whole number; got '8'"),
    ("batch_size = 8", "batch_size = true", "federation.batch_size must be a whole number; got true$"),
    ("batch_size = 8", "batch_size = 0", "federation: batch_size must be 1 or more; got 0"),
    ('"vertical-logistic"', '"vertical-logistik"', 'unknown protocol .*Did you mean "vertical-logistic"'),
    ('role = "passive"', 'role = "pasive"', 'must be one of .*Did you mean "passive"'),
    ('role = "passive"', 'role = "arbiter"', "the role of 'fintech' must be one of active, passive"),
    ('parties = ["fintech"]', 'parties = ["fintec"]', 'unknown party .*Did you mean "fintech"'),
    ("[data]", "[dta]", "unknown section 'dta'. Did you mean \"data\""),
    ('name = "gaussian-noise"', 'name = "gausian-noise"', 'unknown defense .*Did you mean "gaussian-noise"'),
    ("sigma = 200.0", "sigma = -1", "sigma of gaussian-noise must be above 0"),
    ("sigma = 200.0", "sigmas = 12.0", "defense\\[0\\]: unknown key 'sigmas'"),
    ('name = "fintech"', 'name = "bank"', "two parties are called 'bank'"),
    ('title = "small"', 'title = "small', "not valid TOML"),
    ("seed = 3", "seed = -1", "seed must be a whole number from 0 on"),
    ("seed = 3", "seed = 3.5", "seed must be a whole number; got 3.5"),
    ("seed = 3", f"seed = {2**70}", "seed must be a whole number of 64 bits"),
    ('title = "small"', "title = 3", "title must be a text; got 3"),
    ("[[defense]]", "[defense]", r"defense must be an array of tables, written \[\[defense\]\]; got an object"),
    ('name = "gaussian-noise"', "name = 3", r"defense\[0\] must be the name of a defense \(.*\); got 3"),
    ('name = "gaussian-noise"', "", r"defense\[0\]: the key 'name' is missing; it is the name of a defense"),
    ('name = "fintech"', "", r"federation\.parties\[1\]: the key 'name' is missing; how reports call the party"),
    (
        'by = "ratio"',
        'by = "ration"',
        r"federation\.partition\.by must be one of .*; got 'ration'. Did you mean \"ratio\"",
    ),
    ('parties = ["fintech"]', "parties = [1]", r"adversary\[0\]\.parties\[0\] must be a text; got 1"),
    (
        "max_rows = 100",
        "max_rows = 100\npositive = [1]",
        "data.positive must be a text or whole number or number; got a",
    ),
    ("learning_rate = 0.1", "learning_rate = inf", "learning_rate must be above 0 and finite; got inf"),
    ("sigma = 200.0", "sigma = inf", "sigma of gaussian-noise must be above 0 and finite"),
    ("sigma = 200.0", 'parties = ["bank", "bank"]', "parties of gaussian-noise must differ"),
    (
        "sigma = 200.0",
        'sigma = 200.0\n[[defense]]\nname = "gaussian-noise"\nsigma = 200',
        r"defense\[1\] must differ from",
    ),
    ('parties = ["bank"]', 'parties = ["fintech"]', r"adversary\[1\] must differ from adversary\[0\]"),
    ('parties = ["fintech"]', 'parties = ["fintech", "fintech"]', "must name each party once; got 'fintech' twice"),
    ('parties = ["bank"]', 'parties = ["bank"]\nknowledge.cells = 2', "cells must be a share from 0 to 1; got 2"),
    ('parties = ["bank"]', 'parties = ["bank"]\nknowledge.cells = nan', "cells must be a share from 0 to 1; got nan"),
    ('parties = ["bank"]', 'parties = ["bank"]\nknowledge.sample = -1', "sample must be from 0 to 10,000,000; got -1"),
    ('by = "ratio"', 'by = "ratio"\ntest_share = 1.0', "test_share must be at least 0 and below 1; got 1.0"),
    ('by = "ratio"', 'by = "ratio"\ntrain_rows = 0', "train_rows must be from 1 to 10,000,000; got 0"),
    ('name = "fintech"', 'name = "*"', "name must be 1 to 64 printable characters"),
    ('name = "fintech"', 'name = ""', "name must be 1 to 64 printable characters"),
    ('name = "fintech"', 'name = "a\\u202eb"', "name must be 1 to 64 printable characters"),
    ('name = "fintech"', f'name = "{"f" * 65}"', "name must be 1 to 64 printable characters"),
    ("n_columns = 7", "n_columns = 9000000000000000000", "must be from 0 to 1,000,000"),
    ('by = "ratio"', 'by = "ratio"\ntrain_rows = 4611686018427387904', "train_rows must be from 1 to 10,000,000"),
    ("n_columns = 7", "n_columns = -7", "n_columns of 'bank' must be from 0 to 1,000,000; got -7"),
    ("n_columns = 7", "share = nan", "share of 'bank' must be from 0 to 1; got nan"),
    ("n_columns = 7", "n_columns = 7\nshare = 0.2", "must have columns, n_columns, share or patches, one of them"),
    ('role = "passive"', 'role = "active"', 'must have a party with role = "passive" in vertical-logistic; got 0'),
    ('"vertical-logistic"', '"vertical-logistic-arbiter"', 'must have one party with role = "arbiter" in .*; got 0'),
    (
        'cipher = "sealed"',
        'cipher = "rsa"',
        "federation.cipher must be one of paillier, sealed, paillier-subgroup; got 'rsa'",
    ),
]


@pytest.mark.parametrize(("good", "bad", "message"), MISTAKES)
def test_a_mistake_is_named(good, bad, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        parse_scenario(changed((good, bad)))
    assert "\n" not in str(caught.value).split("TOML")[0]


def test_a_column_that_two_parties_claim():
    text = changed(("n_columns = 7", 'columns = ["a", "b"]'), ("n_columns = 23", 'columns = ["b", "c"]'))
    with pytest.raises(ScenarioError, match="the column 'b' is claimed by 'bank' and 'fintech'"):
        parse_scenario(text)


def test_an_arbiter_holds_no_columns():
    arbiter = '[[federation.parties]]\nname = "referee"\nrole = "arbiter"\nn_columns = 1\n[[adversary]]'
    with pytest.raises(ScenarioError, match="'referee' is arbiter and must hold no columns"):
        parse_scenario(changed(('"vertical-logistic"', '"vertical-logistic-arbiter"'), ("[[adversary]]", arbiter)))


@pytest.mark.parametrize("n_columns", [1, 700])
def test_numbers_of_columns_that_do_not_add_up(n_columns):
    """They once were taken as shares, so that a party of one column silently got fifteen."""
    with pytest.raises(ScenarioError, match=f"must add up to the 30 columns of the table; got {n_columns + 23}"):
        plan_audit(parse_scenario(changed(("n_columns = 7", f"n_columns = {n_columns}"))))


def test_a_number_of_columns_where_names_are_asked_for():
    with pytest.raises(ScenarioError, match=r"'bank' must name its columns .* set by"):
        plan_audit(parse_scenario(changed(('by = "ratio"', 'by = "columns"'))))


def test_columns_that_nobody_names_are_left_out_on_request():
    named = (
        ("n_columns = 7", 'columns = ["mean area"]'),
        ("n_columns = 23", 'columns = ["mean radius", "worst area"]'),
    )
    with pytest.raises(InputError, match="every column must belong to a party"):
        plan_audit(parse_scenario(changed(('by = "ratio"', ""), *named)))
    federation = plan_audit(parse_scenario(changed(('by = "ratio"', 'unassigned = "drop"'), *named)))[0].federation
    assert [party.columns for party in federation.parties] == [("mean area",), ("mean radius", "worst area")]


def test_what_a_scenario_declares_is_checked_before_anything_runs():
    too_many = changed(('parties = ["bank"]', 'parties = ["bank"]\nknowledge.sample = 21'))
    with pytest.raises(ScenarioError, match="sample must be at most the 20 held-out rows; got 21"):
        plan_audit(parse_scenario(too_many))
    stranger = changed(("sigma = 200.0", 'parties = ["nobody"]'))
    with pytest.raises(ScenarioError, match=r"defense gaussian-noise: parties must be among .*; got 'nobody'"):
        plan_audit(parse_scenario(stranger))


def test_a_section_that_is_missing():
    text = SMALL.replace('[[adversary]]\nparties = ["fintech"]', "").replace('[[adversary]]\nparties = ["bank"]', "")
    with pytest.raises(ScenarioError, match=r"the section \[adversary\] is missing"):
        parse_scenario(text)


def test_no_adversary_at_all():
    text = SMALL.replace('[[adversary]]\nparties = ["fintech"]\n[[adversary]]\nparties = ["bank"]\n', "")
    with pytest.raises(ScenarioError, match="adversary must name at least one adversary"):
        parse_scenario(f"adversary = []\n{text}")


def test_a_file_without_end():
    with pytest.raises(ScenarioError, match="must be at most 1048576 bytes"):
        load_scenario(Path("/dev/zero"))


def test_a_batch_larger_than_the_table():
    with pytest.raises(ScenarioError, match=r"federation\.batch_size must be at most the 80 training rows; got 81"):
        plan_audit(parse_scenario(changed(("batch_size = 8", "batch_size = 81"))))


def test_a_label_with_three_classes():
    columns = (("n_columns = 7", "n_columns = 2"), ("n_columns = 23", "n_columns = 2"))
    with pytest.raises(InputError, match="positive"):
        plan_audit(parse_scenario(changed(("breast_cancer", "iris"), *columns)))


def test_a_missing_file(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path / "nothing.toml")


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="must be UTF-8 text"):
        load_scenario(path)


def test_the_built_in_scenario_is_valid_and_uses_real_keys():
    scenario = built_in_scenario()
    assert scenario.settings.key_bits == 2048
    assert scenario.settings.cipher == "paillier"


def test_a_table_in_place_of_a_scenario_says_what_writes_one(tmp_path):
    path = tmp_path / "customers.csv"
    path.write_text("income,age\n1,2\n")
    with pytest.raises(ScenarioError, match=r"is a table: fedleak init .*customers.csv writes a scenario"):
        load_scenario(path)
