"""Attacks and defenses of others: found by entry points, listed, audited; a broken one is told and left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from installed import PACKAGE, python, write_metadata

from fedleak.core.attack import Attack, faults_of_attack
from fedleak.core.errors import UnknownNameError
from fedleak.core.registry import Entry, Registry

CONTROL = PACKAGE / "fedleak_sample" / "controls" / "averaged_weights.toml"
KEY = ("--run-key", 32 * "1")  # what is asked here is not the luck of a key
OURS = Entry("residual-sign", "fedleak.attacks.residuals.residual_sign:ResidualSign", ("criterion-4.2",))


def registry() -> Registry[Attack]:
    return Registry("attack", [OURS], group="fedleak.attacks", faults=faults_of_attack)


def test_a_list_names_the_distribution(site: Path, tmp_path: Path) -> None:
    for kind, name in (("attacks", "averaged-weights"), ("defenses", "short-training")):
        done = python("-m", "fedleak", "list", kind, "--json", "-", path=[site], cwd=tmp_path)
        entries = {row["name"]: row["distribution"] for row in json.loads(done.stdout)["entries"]}
        assert entries.pop(name) == "fedleak-sample 1.2"
        assert set(entries.values()) == {""}
    shown = python("-m", "fedleak", "list", "defenses", path=[site], cwd=tmp_path).stdout
    assert "distribution" in shown.splitlines()[0]
    assert "fedleak-sample" in shown


def test_without_other_packages_no_distribution_is_shown(tmp_path: Path) -> None:
    shown = python("-m", "fedleak", "list", "defenses", path=[], cwd=tmp_path).stdout
    assert "gaussian-noise" in shown
    assert "distribution" not in shown.splitlines()[0]


def test_an_audit_runs_them_apart(site: Path, tmp_path: Path) -> None:
    scenario = CONTROL.read_text().replace("epochs = 20", "epochs = 5") + '[[defense]]\nname = "short-training"\n'
    (tmp_path / "scenario.toml").write_text(scenario)
    done = python("-m", "fedleak", "audit", "scenario.toml", *KEY, "--json", "-", path=[site], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["environment"]["attacks"] == "each in a process that held its view alone"
    assert found["environment"]["plug_ins"] == "averaged-weights of fedleak-sample 1.2"
    outcomes = {finding["defense"]: finding["outcome"] for finding in found["findings"]}
    assert outcomes[None] == "no_leak"
    told = next(finding["population"] for finding in found["findings"] if finding["defense"] is None)
    assert told["ci"][0] > told["baseline"], "it predicts, as any useful model does"
    assert set(outcomes) == {None, "short-training"}
    assert {finding["attack"] for finding in found["findings"]} == {"averaged-weights"}


BROKEN = {
    "no-module": "no_such_module:Attack",
    "no-class": "fedleak_sample.averaged_weights:Other",
    "misnamed": "fedleak_sample.averaged_weights:AveragedWeights",
    "no-attack": "fedleak_sample.short_training:ShortTraining",
    "residual-sign": "fedleak_sample.averaged_weights:AveragedWeights",
}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    write_metadata(tmp_path / "broken", "broken-plug-ins", "0.3", {"fedleak.attacks": BROKEN})
    return tmp_path / "broken"


def test_what_is_broken_is_told_in_a_line_each_and_left_out(site: Path, broken: Path, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(CONTROL.read_text().replace('attacks = ["averaged-weights"]', ""))
    arguments = ("-m", "fedleak", "check", "scenario.toml", "--json", "-")
    done = python(*arguments, path=[site, broken], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    attacks = {found["attack"] for found in json.loads(done.stdout)["attacks"]}
    assert {"averaged-weights", "residual-sign", "own-weights"} <= attacks
    assert not attacks & (BROKEN.keys() - {"residual-sign"})
    lines = done.stderr.splitlines()
    assert len(lines) == len(BROKEN)
    for name in BROKEN:
        assert sum(f"the attack '{name}' of broken-plug-ins 0.3 is left out: " in line for line in lines) == 1


def test_a_name_of_ours_stays_ours(broken: Path, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    monkeypatch.syspath_prepend(broken)
    found = registry()
    assert found.get("criterion-4.2").__module__ == "fedleak.attacks.residuals.residual_sign"
    assert not caplog.messages, "a name of ours does not even look for others"
    assert found.names == ("residual-sign", "misnamed", "no-attack", "no-class", "no-module")
    (told,) = caplog.messages
    assert told.endswith("is left out: the name is taken by fedleak; rename yours")
    assert found.distribution("residual-sign") == ""


def test_asking_for_a_broken_one_says_why(site: Path, broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(broken)
    found = registry()
    assert found.get("averaged-weights").name == "averaged-weights"
    for name, why in (
        ("no-module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("misnamed", "its name must be that of its entry point; got 'averaged-weights'"),
        ("no-attack", "it must be a subclass of fedleak.core.attack.Attack"),
    ):
        with pytest.raises(UnknownNameError, match=f"of broken-plug-ins 0.3 cannot be used: {why}"):
            found.get(name)


HOOK = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "fedleak_sample":
            return importlib.util.spec_from_file_location(
                name, {init!r}, submodule_search_locations=[{folder!r}])
sys.meta_path.append(Finder)
"""
TRY = """
import sys
import fedleak
from fedleak_sample.averaged_weights import AveragedWeights
from fedleak.attacks import ATTACKS
ATTACKS.add(AveragedWeights, "here")
report = fedleak.audit(sys.argv[1], run_key=sys.argv[2])
print([(finding.outcome.value, finding.why) for finding in report.findings])
"""


@pytest.mark.parametrize(("reads", "outcome"), [(None, "no_leak"), ("__init__.py", "no_leak"), ("data.csv", "errored")])
def test_a_package_that_an_import_hook_knows_can_run_and_read_its_code_alone(
    reads: str | None, outcome: str, site: Path, tmp_path: Path
) -> None:
    """As setuptools installs a package for its developer: it lies in no folder of ``sys.path``."""
    folder = tmp_path / "work" / "fedleak_sample"
    install_hook(folder, site, tmp_path / "hooks")
    (folder / "data.csv").write_text("1,2,3\n")
    if reads:
        module = folder / "averaged_weights.py"
        head = "    def run(self, view: View, *, rng: np.random.Generator) -> Guess:\n"
        reading = f"        from pathlib import Path\n        Path(__file__).with_name({reads!r}).read_text()\n"
        assert head in module.read_text()
        module.write_text(module.read_text().replace(head, head + reading))
    done = python("-c", TRY, CONTROL, KEY[1], path=[tmp_path / "hooks"], cwd=tmp_path)
    assert f"('{outcome}', " in done.stdout, done.stderr
    assert ("may not touch" in done.stdout) is (outcome == "errored")


def install_hook(folder: Path, site: Path, hooks: Path) -> None:
    shutil.copytree(site / "fedleak_sample", folder)
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(HOOK.format(init=str(folder / "__init__.py"), folder=str(folder)))
