"""Grids: which cells, and what is told of mistakes."""

from __future__ import annotations

import pytest
from grids import GRID, written

from fedleak.core.errors import InputError
from fedleak.sweeps.grid import load_grid


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ("repeats = 1", "repeat = 1", r"unknown key 'repeat'. Did you mean \"repeats\"\?"),
        ("repeats = 1", "repeats = 0", "repeats must be a whole number from 1 on; got 0"),
        ('base = "base.toml"', "", "base must be a scenario"),
        ('base = "base.toml"', 'base = "other.toml"', r"base: .*other.toml: the file cannot be read"),
        ("seed = [0, 1, 2]", "seed = []", "grid.seed must be a list with something in it"),
        (GRID[GRID.index("[grid]") :], "", "grid must have 1 to 100,000 cells, from lists in .grid.; got 0"),
        (
            "seed = [0, 1, 2]",
            '"federation.batch_sise" = [8]',
            r"no cell is a scenario: .*Did you mean \"batch_size\"\?",
        ),
        (
            '["residual-sign"]',
            '["residual-sign", "residual-sing"]',
            r"residual-sing fits no cell:.*Did you mean \"residual-sign\"\?",
        ),
        ('["fintech"]', '["fintech", "fintec"]', r"fintec fits no cell:.*Did you mean \"fintech\"\?"),
        ('["none", ', '["none", "gaussian-nose", ', r"fits no cell:.*Did you mean \"gaussian-noise\"\?"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, good, bad, told):
    assert good in GRID
    with pytest.raises(InputError, match=told) as error:
        load_grid(written(tmp_path, GRID.replace(good, bad))).cells()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("first", ["adversary", "attack"])
def test_the_order_of_the_axes_changes_no_scenario(tmp_path, first):
    """An adversary that is set after its attack would try every attack, under the name of one."""
    lines = ['adversary = ["fintech", "bank"]', 'attack = ["residual-sign", "own-weights"]']
    ordered = "\n".join(sorted(lines, key=lambda line: not line.startswith(first)))
    cells, _ = load_grid(written(tmp_path, f'base = "base.toml"\n[grid]\n{ordered}\n')).cells()
    assert len(cells) == 4
    for cell in cells:
        (adversary,) = cell.scenario.adversaries
        assert adversary.parties == (cell.setting["adversary"],)
        assert adversary.attacks == (cell.setting["attack"],)


def test_a_key_in_a_table_is_set_after_the_table(tmp_path):
    whole = "{protocol = 'vertical-logistic', epochs = 1, partition = {by = 'ratio'}, parties = ["
    whole += "{name = 'bank', role = 'active', n_columns = 7}, {name = 'fintech', role = 'passive', n_columns = 23}]}"
    text = f'base = "base.toml"\n[grid]\n"federation.epochs" = [2, 3]\nfederation = [{whole}]\n'
    cells, _ = load_grid(written(tmp_path, text)).cells()
    assert [cell.scenario.settings.epochs for cell in cells] == [2, 3]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('[[together.pace]]\nname = "slow"\nseed = 4\n', "'seed' is by 'pace' and 'seed'"),
        ('[[together.seed]]\nname = "slow"\n"federation.epochs" = 4\n', "'seed' is in grid and in together"),
    ],
)
def test_two_axes_over_one_key_are_refused(tmp_path, more, told):
    """The later would win, and cells would be called what they are not."""
    with pytest.raises(InputError, match=told):
        load_grid(written(tmp_path, GRID + more))


def test_a_combination_that_is_no_scenario_is_left_out_with_its_reason(tmp_path):
    """A defense of predictions has no place in training, and the other way round; each fits somewhere."""
    text = GRID.replace("seed = [0, 1, 2]", "").replace('"none", ', '"none", "top-label", ') + (
        '[[together.protocol]]\nname = "training"\n'
        '[[together.protocol]]\nname = "serving"\n'
        "federation = {protocol = 'vertical-prediction', model = 'logistic', partition = {by = 'ratio'}, parties = ["
        "{name = 'bank', role = 'active', n_columns = 7}, {name = 'fintech', role = 'passive', n_columns = 23}]}\n"
    )
    cells, refused = load_grid(written(tmp_path, text)).cells()
    assert [(cell.setting["protocol"], cell.setting["defense"]) for cell in cells] == [
        ("training", "none"),
        ("training", "gaussian-noise(sigma=200.0)"),
        ("serving", "none"),
        ("serving", "top-label"),
    ]
    assert [(one.setting["protocol"], one.setting["defense"]) for one in refused] == [
        ("training", "top-label"),
        ("serving", "gaussian-noise(sigma=200.0)"),
    ]
    assert all("leave it out" in one.why for one in refused)


def test_cells_that_differ_by_a_defense_have_the_same_luck_and_those_of_two_seeds_do_not(tmp_path):
    cells, _ = load_grid(written(tmp_path)).cells()
    keys = {(cell.setting["defense"], cell.setting["seed"]): cell.run_key for cell in cells}
    noise = "gaussian-noise(sigma=200.0)"
    assert keys["none", "0"] == keys[noise, "0"] != keys["none", "1"]
