"""Scenario files: what is wrong is said in one line, with the place and the remedy."""

from __future__ import annotations

import pytest

from fedleak.audit.planning import plan_audit
from fedleak.audit.scenario_file import built_in_scenario, load_scenario, parse_scenario
from fedleak.audit.scenario_reference import scenario_reference
from fedleak.core.errors import InputError, ScenarioError
from scenarios import SMALL, changed

MISTAKES = [
    ("epochs = 4", "epoch = 4", r"federation: unknown key 'epoch'. Did you mean \"epochs\"\?"),
    ("batch_size = 8", 'batch_size = "8"', "federation.batch_size must be a whole number; got a text '8'"),
    ("batch_size = 8", "batch_size = true", "federation.batch_size must be a whole number; got true or false True"),
    ("batch_size = 8", "batch_size = 0", "federation: batch_size must be 1 or more; got 0"),
    ('"vertical-logistic"', '"vertical-logistik"', 'unknown protocol .*Did you mean "vertical-logistic"'),
    ('role = "passive"', 'role = "pasive"', 'must be one of .*Did you mean "passive"'),
    ('role = "passive"', 'role = "arbiter"', "the role of 'fintech' must be one of active, passive"),
    ('parties = ["fintech"]', 'parties = ["fintec"]', 'unknown party .*Did you mean "fintech"'),
    ("[data]", "[dta]", "unknown section 'dta'. Did you mean \"data\""),
    ('name = "gaussian-noise"', 'name = "gausian-noise"', 'unknown defense .*Did you mean "gaussian-noise"'),
    ("sigma = 12.0", "sigma = -1", "sigma of gaussian-noise must be above 0"),
    ("sigma = 12.0", "sigmas = 12.0", "defense\\[0\\]: unknown key 'sigmas'"),
    ('name = "fintech"', 'name = "bank"', "two parties are called 'bank'"),
    ('title = "small"', 'title = "small', "not valid TOML"),
    ("seed = 3", "seed = -1", "seed must be a whole number from 0 on"),
    ('cipher = "sealed"', 'cipher = "rsa"', "federation.cipher must be one of paillier, sealed; got 'rsa'"),
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


def test_a_section_that_is_missing():
    text = SMALL.replace('[[adversary]]\nparties = ["fintech"]', "").replace('[[adversary]]\nparties = ["bank"]', "")
    with pytest.raises(ScenarioError, match=r"the section \[adversary\] is missing"):
        parse_scenario(text)


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


def test_the_reference_page_is_up_to_date():
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "scenario.md"
    assert page.read_text(encoding="utf-8") == scenario_reference(), "run: make docs"
