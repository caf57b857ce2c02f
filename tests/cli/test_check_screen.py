"""What theory says, on one screen: a line for each adversary and secret, and the nearest change."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from fedleak.cli.check import MOST_LINES, NARROW
from fedleak.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"


def screen(*words: str) -> list[str]:
    done = CliRunner().invoke(app, ["check", *words], env={"COLUMNS": str(NARROW)})
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_the_built_in_scenario_with_its_defense_and_remedies():
    lines = screen()
    assert [line for line in lines if "leaks for certain" in line and line.startswith("fintech  labels of bank")]
    assert any(line.startswith("With gaussian-noise(sigma=20.0): 1 leaks in part") for line in lines)
    assert any(line.startswith('Change: gradients = "secret-shared", so that nobody sees') for line in lines)
    assert not any("…" in line for line in lines), "every reason is whole where there is room"
    assert len(lines) <= MOST_LINES
    verbose = screen("--verbose")
    assert len(verbose) > 5 * MOST_LINES
    assert any("hu2022/theorem-3.6" in line for line in verbose)
    assert any("for fintech, every residual of every batch is determined (hu2022/corollary-3.2)" in x for x in verbose)


def test_where_theory_knows_no_change_it_says_so():
    lines = screen(str(EXAMPLES / "house_price_service.toml"))
    assert any("leaks for certain" in line for line in lines)
    assert any(line.startswith("Change: theory names none that closes it") for line in lines)


def test_an_adversary_for_whom_we_have_no_attack_is_no_clean_bill(tmp_path):
    text = (EXAMPLES / "small_batch_labels.toml").read_text()
    assert 'attacks = ["' in text
    path = tmp_path / "other.toml"
    path.write_text(text.replace('attacks = ["', 'attacks = ["threshold-search"] #'))
    lines = screen(str(path))
    assert not any("ruled out" in line or "safe" in line for line in lines)
