"""The plaintext scan: what a message alone tells of labels and columns, whatever the message is called."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from click.testing import CliRunner

from fedleak.auditing.message_readings import equal_groups, opened_plaintexts, parts_of, peculiarities
from fedleak.auditing.plaintext_scan import plaintext_scan
from fedleak.cli.main import app
from fedleak.core.payload import Array, CipherArray, Tree
from fedleak.recorder import EVERYONE, Ciphertexts, Recorder
from fedleak.storage.capture_and_truth import load_capture, load_truth

IDS = np.arange(100, 180)
PRIMES = (2**521 - 1, 2**607 - 1)


@dataclass
class World:
    """80 rows: what the bank holds, its third column close to the first of the shop's, and labels of luck."""

    rng: np.random.Generator

    def __post_init__(self):
        self.own, self.cells = self.rng.standard_normal((80, 3)), self.rng.standard_normal((80, 2))
        self.own[:, 2] = self.cells[:, 0] + 0.5 * self.rng.standard_normal(80)
        self.labels = self.rng.permutation(np.arange(80) % 2).astype(float)


def captured(folder, seed, sent):
    """``sent(world)`` gives messages to the shop, of all rows or of those named beside them."""
    world = World(np.random.default_rng(seed))
    places = (folder / f"capture{seed}", folder / f"truth{seed}")
    steps = ("odd.message", "odd.rows")
    with Recorder(places[0], {"bank": "active", "shop": "passive"}, own_steps=steps, truth=places[1]) as recorder:
        recorder.record("shop", "features", world.cells, ids=IDS)
        recorder.truth("shop", world.cells, ids=IDS)
        recorder.truth("bank", world.own, ids=IDS, labels=world.labels[:, None])
        for number, (rows, payload) in enumerate(sent(world)):
            if rows is not None:
                recorder.message("odd.rows", "bank", EVERYONE, IDS[rows], round=number)
            recorder.message("odd.message", "bank", "shop", payload, round=number)
    return load_capture(places[0]), load_truth(places[1])


def told(lines):
    return {(line.step, line.receiver, line.secret) for line in lines if line.tells}


def test_a_message_of_unknown_meaning_is_told_by_what_it_predicts(tmp_path):
    def sent(world):
        for _ in range(3):
            yield None, world.rng.standard_normal(80)
        yield None, world.labels - 0.3

    lines = plaintext_scan(*captured(tmp_path, 0, sent))
    assert told(lines) == {("odd.message", "shop", "labels of bank")}
    best = next(line for line in lines if line.tells)
    assert (best.measured.value, best.measured.visit, best.measured.rows) == (1.0, 3, 40)
    assert best.measured.baseline < 0.8
    assert best.messages == 4
    assert not best.encrypted


def test_rows_of_batches_are_put_together(tmp_path):
    """Eight batches of ten rows, in an order of their own: too few each, enough together."""

    def sent(world):
        for rows in world.rng.permutation(80).reshape(8, 10):
            yield rows, {"value": world.own[rows, 1] ** 3, "noise": world.rng.standard_normal(10)}

    lines = plaintext_scan(*captured(tmp_path, 1, sent))
    assert told(lines) == {("odd.message", "shop", "features of bank")}
    best = next(line for line in lines if line.tells)
    assert (best.column, best.measured.reading, best.measured.measure) == ("x1", "value", "rank-correlation")
    assert best.measured.value == pytest.approx(1.0)


def test_what_the_receiver_has_itself_is_no_leak(tmp_path):
    """A message that repeats the receiver's own columns predicts what they predict, and nothing more."""

    def sent(world):
        yield None, 2 * world.cells[:, 0]

    assert told(plaintext_scan(*captured(tmp_path, 2, sent))) == set()


def test_luck_is_called_a_leak_no_more_often_than_promised(tmp_path):
    """100 transcripts of noise, each with 12 messages to choose from: at most 2.5 % may tell, so 7 (0.4 % of luck)."""

    def sent(world):
        for _ in range(12):
            yield None, world.rng.standard_normal((80, 2))

    wolves = sum(bool(told(plaintext_scan(*captured(tmp_path, seed, sent)))) for seed in range(100))
    assert wolves <= 7


def bare(values):
    """Paillier's 1 + m n without its random factor; negative plaintexts wrap."""
    n = PRIMES[0] * PRIMES[1]
    return Ciphertexts([1 + (int(value) % n) * n for value in values], "k")


def test_ciphertexts_give_themselves_away(tmp_path):
    def unblinded(world):
        yield None, bare(np.rint(1000 * (world.labels - 0.5)).astype(int) + world.rng.integers(0, 7, 80))

    capture, truth = captured(tmp_path, 3, unblinded)
    lines = plaintext_scan(capture, truth)
    assert told(lines) == {("odd.message", "shop", "labels of bank")}
    best = next(line for line in lines if line.tells)
    assert (best.encrypted, best.measured.reading, best.measured.value) == (True, "opened", 1.0)
    (message,) = capture.transcript.messages
    assert any("not blinded" in words for words in peculiarities(message.payload))


def test_equal_ciphertexts_are_groups():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (3, 8), dtype=np.uint8)[[0, 1, 1, 2, 1]]
    sent = CipherArray("k", "paillier", data, (5,), 0)
    assert equal_groups(sent).tolist() == [-1, 0, 0, -1, 0]
    (part,) = parts_of(sent)
    assert part.names == ("equal ciphertexts 0",)
    assert part.readings[:, 0].tolist() == [0, 1, 1, 0, 1]
    assert peculiarities(sent) == ["3 different ciphertexts in 5"]
    assert opened_plaintexts(sent) is None


def test_signs_and_sizes_beside_ciphertexts_are_readings():
    data = np.random.default_rng(0).integers(0, 256, (4, 8), dtype=np.uint8)
    signs, sizes = np.array([1, -1, 1, 1], dtype=np.int8), np.array([0, 1, 0, 2])
    sent = CipherArray("k", "paillier", data, (4,), 0, exponents=sizes, signs=signs)
    assert [part.names for part in parts_of(sent)] == [("sign",), ("exponent",)]
    assert len(peculiarities(sent)) == 2
    assert peculiarities(replace(sent, signs=None, exponents=None)) == []
    assert list(parts_of(replace(sent, signs=None, exponents=None))) == []


def test_few_different_values_are_worth_a_look():
    bits = np.arange(40) % 2
    assert peculiarities(Tree({"left": Array(bits)})) == ["left: 2 different values in 40"]
    assert peculiarities(Array(np.ones(40))) == []
    assert peculiarities(Array(np.arange(40))) == []


def test_inspect_shows_unknown_messages_and_the_scan(tmp_path):
    captured(tmp_path, 5, lambda world: [(None, world.labels)])
    arguments = ["inspect", str(tmp_path / "capture5"), "--truth", str(tmp_path / "truth5")]
    shown = CliRunner().invoke(app, arguments).output
    assert "look at odd.message from bank: no meaning known" in shown
    assert "tells  odd.message from bank to shop: labels of bank, label: auc 1.000" in shown
    found = json.loads(CliRunner().invoke(app, [*arguments, "--json", "-"]).output)
    assert [(one["step"], one["known"], one["encrypted"]) for one in found["messages"]] == [
        ("odd.message", False, False)
    ]
    best = found["plaintext_scan"][0]
    assert (best["tells"], best["value"], best["secret"], best["rows"]) == (True, 1.0, "labels of bank", 40)
    without = CliRunner().invoke(app, [*arguments[:2], "--json", "-"])
    assert "plaintext_scan" not in json.loads(without.output)
