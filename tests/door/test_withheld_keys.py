"""Private keys reach the attacks and, unless somebody says so, no disk."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import fedleak
from fedleak.cli.main import app
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.finding import Outcome
from fedleak.core.payload import Array, Scalar, Tree
from fedleak.core.steps import Role
from fedleak.core.transcript import Record
from fedleak.crypto.paillier_cipher import Paillier
from fedleak.crypto.sealed import Sealed
from fedleak.crypto.sent_keys import is_private_key
from fedleak.door.withheld_keys import WithheldKeys
from fedleak.storage.capture_and_truth import DiskSink, load_capture

SCENARIO = """
title = "an arbiter with a real key"
[data]
source = "sklearn:diabetes"
task = "regression"
scaling = "standard"
max_rows = 20
[federation]
protocol = "vertical-linear-arbiter"
key_bits = 1024
batch_size = 16
epochs = 8
learning_rate = 0.1
initialisation = "normal"
shuffle = false
[federation.partition]
by = "ratio"
[[federation.parties]]
name = "bank"
role = "active"
n_columns = 8
[[federation.parties]]
name = "clinic"
role = "passive"
n_columns = 2
[[federation.parties]]
name = "referee"
role = "arbiter"
[[adversary]]
parties = ["bank", "referee"]
attacks = ["arbiter-collusion"]
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario") / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def keys_in(out) -> list[Record]:
    (folder,) = (out / "transcripts").iterdir()
    captured = load_capture(folder)
    return [record for party in captured.locals.values() for record in party if is_private_key(record.value)]


def audited(scenario, out, *more: str) -> str:
    return CliRunner().invoke(app, ["audit", str(scenario), "--out", str(out), "--repeats", "1", *more]).output


def test_the_attack_has_the_key_and_the_folder_has_not(scenario, tmp_path) -> None:
    said = audited(scenario, tmp_path)
    (finding,) = fedleak.load_report(tmp_path).findings
    assert finding.outcome is Outcome.LEAK
    assert keys_in(tmp_path) == []
    assert "what every party had, private keys left out (--keep-keys keeps them)" in said
    assert "keys below 2048 bits can be broken" in said


def test_keys_are_kept_where_somebody_says_so(scenario, tmp_path) -> None:
    assert "what every party had, private keys included: keep it" in audited(scenario, tmp_path, "--keep-keys")
    assert len(keys_in(tmp_path)) == 1


def test_records_are_read_back_in_their_order_and_others_from_the_disk(tmp_path) -> None:
    key = Paillier(allow_small_keys=True).generate(256).to_payload()
    values = {"first": Scalar(1), "private-key": key, "last": Array(np.array([2.0]))}
    records = [Record("setup.x", -1, name, value) for name, value in values.items()]
    sink = WithheldKeys(DiskSink(tmp_path / "run"))
    for record in records:
        sink.record("bank", record)
    sink.record("referee", records[1])
    captured = sink.finish(Facts("vertical-logistic", (PartyFacts("bank", Role.ACTIVE, 2),)))
    assert [record.name for record in captured.locals["bank"]] == ["first", "private-key", "last"]
    assert list(captured.locals["bank"].keys) == ["first", "private-key", "last"]
    assert is_private_key(captured.locals["bank"][1].value)
    assert [record.name for record in captured.locals["referee"]] == ["private-key"]
    assert [record.name for record in load_capture(tmp_path / "run").locals["bank"]] == ["first", "last"]


def test_what_a_private_key_is() -> None:
    real, ideal = (cipher(allow_small_keys=True).generate(256) for cipher in (Paillier, Sealed))
    assert is_private_key(real.to_payload())
    assert not is_private_key(real.public.to_payload())
    assert not is_private_key(ideal.to_payload())
    assert not is_private_key(Tree({"p": Scalar(1)}))
