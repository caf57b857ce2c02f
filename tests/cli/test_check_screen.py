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
    assert any(line.startswith("Change: Against fintech, hu2022/corollary-3.2 holds") for line in lines)
    assert len(lines) <= MOST_LINES
    verbose = screen("--verbose")
    assert len(verbose) > 5 * MOST_LINES
    assert any("hu2022/theorem-3.6" in line for line in verbose)


def test_an_adversary_for_whom_we_have_no_attack_is_no_clean_bill(tmp_path):
    text = (EXAMPLES / "small_batch_labels.toml").read_text()
    assert 'attacks = ["' in text
    path = tmp_path / "other.toml"
    path.write_text(text.replace('attacks = ["', 'attacks = ["threshold-search"] #'))
    lines = screen(str(path))
    assert not any("ruled out" in line or "safe" in line for line in lines)
