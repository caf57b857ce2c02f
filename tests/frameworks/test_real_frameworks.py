"""Real frameworks, from their installation to the leak: minutes, so behind a switch (``make frameworks``)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from fedleak.attacks.binary.binary_records import BinaryRecords
from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.attacks.binary.sent_products import SentProducts
from fedleak.attacks.boosting.bare_ciphertexts import BareCiphertexts
from fedleak.attacks.boosting.member_clustering import MemberClustering
from fedleak.attacks.boosting.offered_splits import OfferedIntervals, OfferedThresholds
from fedleak.attacks.boosting.sample_gradients import SampleGradients
from fedleak.attacks.networks.embedding_gram import EmbeddingGram
from fedleak.attacks.networks.gradient_factoring import GradientFactoring
from fedleak.attacks.networks.gradient_labels import GradientClustering
from fedleak.attacks.residuals.ciphertext_sign import CiphertextSign
from fedleak.attacks.residuals.unblinded_exchange import UnblindedScores
from fedleak.attacks.residuals.unblinded_labels import UnblindedLabels
from fedleak.core.adversary import Secret, SecretKind, together
from fedleak.core.attack import Status
from fedleak.core.errors import MissingFromViewError, RunError
from fedleak.core.payload import Array
from fedleak.core.view import View
from fedleak.data import DataSpec
from fedleak.frameworks import FRAMEWORKS
from fedleak.frameworks.capturing import Wanted, captured, dealt
from fedleak.frameworks.children import run_to_end
from fedleak.frameworks.environment import ready
from fedleak.frameworks.job import CAPTURE, ERROR, write_job
from fedleak.frameworks.recipe import recipe_of
from fedleak.protocols.captured.asked_rows import asked_services
from fedleak.storage.capture_and_truth import load_capture, load_truth

SWITCH = "FEDLEAK_FRAMEWORK_TESTS"
pytestmark = pytest.mark.skipif(
    os.environ.get(SWITCH) != "1", reason=f"real frameworks are tried where {SWITCH}=1 (make frameworks)"
)
RNG = np.random.default_rng(0)


def trained(out, name, task, source, *given, target=None, own_share=0.5, max_rows=200):
    recipe = recipe_of(name)
    spec = DataSpec(source=source, target=target, task=task, scaling=recipe.scaling, max_rows=max_rows)
    folders = captured(Wanted(recipe, spec, recipe.chosen(given), own_share, 1, out), print)
    return load_capture(folders[0]), load_truth(folders[1])


def guess(attack, capture, party, kind, owner):
    view = View(
        (party,),
        Secret(kind, owner),
        capture.transcript.facts,
        capture.transcript.concerning(frozenset({party})),
        {party: capture.locals.get(party, ())},
    )
    return attack().run(view, rng=RNG)


@pytest.mark.parametrize(
    ("task", "source"),
    [("binary", "sklearn:breast_cancer"), ("multiclass", "sklearn:wine"), ("regression", "sklearn:diabetes")],
)
def test_xgboost(tmp_path, task, source):
    all_is_told(*trained(tmp_path / "out", "xgboost", task, source, "rounds=5", "depth=4"))


def test_vertical_xgboost_of_nvflare(tmp_path):
    """XGBoost's own messages, carried by NVFLARE: a site's filter has all that a proxy has."""
    given = ("rounds=3", "depth=3")
    all_is_told(*trained(tmp_path / "out", "nvflare-xgboost", "binary", "sklearn:breast_cancer", *given))


def all_is_told(capture, truth):
    """Labels, ranges of every cell, and split points."""
    labels = truth.of(Secret(SecretKind.LABELS, "bank")).values[:, 0]
    for party in ("fintech", "aggregator"):
        found = guess(SampleGradients, capture, party, SecretKind.LABELS, "bank").values[:, 0]
        assert np.abs(found - labels).max() <= 1e-4 * np.ptp(labels)
    for party, owner in (("fintech", "bank"), ("bank", "fintech"), ("aggregator", "fintech")):
        cells = truth.of(Secret(SecretKind.FEATURES, owner))
        ranges = guess(OfferedIntervals, capture, party, SecretKind.RANGES, owner)
        own = cells.values[np.searchsorted(cells.ids, ranges.ids)]
        assert ((ranges.intervals[..., 0] <= own) & (own <= ranges.intervals[..., 1])).all()
        kept = next(record.value for record in capture.locals[owner] if record.name == "splits").values
        told = guess(OfferedThresholds, capture, party, SecretKind.THRESHOLDS, owner)
        assert {(*map(int, row), float(value)) for row, value in zip(told.ids, told.values[:, 0], strict=True)} == {
            (int(tree), int(node), float(threshold)) for tree, node, _, threshold, _ in kept
        }


def flags(folder, n_rows, names="abcdef"):
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 2, (n_rows, len(names) + 1))
    cells[:2, -1] = 0, 1
    lines = [",".join([*names, "y"]), *(",".join(map(str, row)) for row in cells)]
    (folder / "flags.csv").write_text("\n".join(lines))
    return str(folder / "flags.csv")


def products(truth, *owners):
    rows = np.vstack([truth.of(Secret(SecretKind.FEATURES, owner)).values for owner in owners])
    signs = 2 * np.vstack([truth.of(Secret(SecretKind.LABELS, owner)).values for owner in owners]) - 1
    return np.hstack([rows.T @ rows, rows.T @ signs])


def test_flower(tmp_path):
    """Products of the other client's columns, from a plain run; the server has them of that client alone."""
    capture, truth = trained(tmp_path / "out", "flower", "binary", flags(tmp_path, 16), "rounds=16", target="y")
    guessed = guess(ColumnProducts, capture, "clinic", SecretKind.COLUMN_PRODUCTS, "hospital")
    assert np.array_equal(guessed.values, products(truth, "hospital"))
    sent = guess(SentProducts, capture, "server", SecretKind.COLUMN_PRODUCTS, "hospital")
    assert np.array_equal(sent.values, products(truth, "hospital"))


def test_rows_of_the_other_client_of_flower(tmp_path):
    """Every flag and label of eight rows, proved, up to their order: they have fewer rows than columns."""
    table = flags(tmp_path, 16, "abcdefghijkl")
    capture, truth = trained(tmp_path / "out", "flower", "binary", table, "rounds=24", target="y")
    found = guess(BinaryRecords, capture, "clinic", SecretKind.RECORDS, "hospital")
    rows, labels = (truth.of(Secret(kind, "hospital")).values for kind in (SecretKind.FEATURES, SecretKind.LABELS))
    assert found.status is Status.RECOVERED
    assert found.certificate
    assert sorted(found.values.tolist()) == sorted(np.hstack([rows, labels]).tolist())


def test_flower_under_secure_aggregation(tmp_path):
    """Products of the sum of the two others, to within what SecAgg+ rounds; the server has nobody's weights."""
    given = ("parties=3", "rounds=24", "aggregation=secagg+", "max_weight=16")
    capture, truth = trained(tmp_path / "out", "flower", "binary", flags(tmp_path, 36), *given, target="y")
    owner = together(("hospital", "lab"))
    guessed = guess(ColumnProducts, capture, "clinic", SecretKind.COLUMN_PRODUCTS, owner)
    assert np.array_equal(np.rint(guessed.values), products(truth, "hospital", "lab"))
    with pytest.raises(MissingFromViewError, match="no weights that hospital sent"):
        guess(SentProducts, capture, "server", SecretKind.COLUMN_PRODUCTS, "hospital")


def test_a_split_network_on_flower(tmp_path):
    """Inner products of the client's rows at the server, classes at the client."""
    given = ("rounds=12",)
    capture, truth = trained(
        tmp_path / "out", "flower-split", "binary", "sklearn:breast_cancer", *given, own_share=0.8, max_rows=50
    )
    cells = truth.of(Secret(SecretKind.FEATURES, "fintech"))
    gram = guess(EmbeddingGram, capture, "bank", SecretKind.GRAM, "fintech")
    rows = cells.values[np.searchsorted(cells.ids, gram.ids)]
    assert np.abs(gram.values - rows @ rows.T).max() < 1e-6 * np.abs(rows @ rows.T).max()
    clusters = guess(GradientClustering, capture, "fintech", SecretKind.LABELS, "bank")
    labels = truth.of(Secret(SecretKind.LABELS, "bank"))
    same = np.mean(clusters.values[:, 0] == labels.values[np.searchsorted(labels.ids, clusters.ids), 0])
    assert max(same, 1 - same) == 1.0


def test_torch_clients_of_flower(tmp_path):
    """All rows of both clients from one step of each, up to their order."""
    source = "sklearn:wine"
    capture, truth = trained(tmp_path / "out", "flower-torch", "multiclass", source, max_rows=12)
    for owner in ("clinic", "hospital"):
        found = guess(GradientFactoring, capture, "server", SecretKind.FEATURES, owner).values
        rows = truth.of(Secret(SecretKind.FEATURES, owner)).values
        apart = np.abs(found[:, None, :] - rows[None, :, :]).max(axis=2)
        assert sorted(apart.argmin(axis=1)) == list(range(len(rows)))
        assert apart.min(axis=1).max() < 1e-3


def test_an_option_that_flower_cannot_do_is_one_line_and_leaves_nothing(tmp_path):
    given = ("parties=2", "aggregation=secagg+")
    with pytest.raises(RunError, match="SecAgg\\+ needs at least 3 parties"):
        trained(tmp_path / "out", "flower", "binary", flags(tmp_path, 16), *given, target="y")
    assert not (tmp_path / "out").exists()


def ending_with(folder):
    """Processes whose command line or working directory lies in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            place = os.readlink(entry / "cwd") if entry.name.isdigit() else ""
            if place.startswith(str(folder)) or str(folder).encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
    return [number for number in found if number != str(os.getpid())]


@pytest.mark.parametrize("name", ["flower", "nvflare"])
def test_an_interrupted_capture_leaves_nothing(tmp_path, name):
    """Ctrl-C in the middle of the work of Ray, or of a simulator with a session of its own."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "fedleak", "capture", name, "--data", flags(tmp_path, 16), "--target", "y"]
    child = subprocess.Popen([*command, "--set", "rounds=500", "--out", str(out)], stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(3000):
            if list(out.glob(".capturing-*/sent-3-*.npy")):
                break
            time.sleep(0.1)
        assert ending_with(out)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 130
    assert said.strip().splitlines()[-1].startswith("fedleak: interrupted")
    assert not out.exists()
    for _ in range(100):
        if not ending_with(out):
            break
        time.sleep(0.1)
    assert ending_with(out) == []


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_another_version_than_the_recipe_s_is_one_line(tmp_path, name):
    recipe = recipe_of(name)
    given = ("parties=2",) if recipe.layout == "rows" else ()
    spec = DataSpec(source="sklearn:breast_cancer", scaling="none", max_rows=20)
    wanted = Wanted(recipe, spec, recipe.chosen(given), 0.5, 1, tmp_path / "out")
    write_job(tmp_path, "0.0.1", 1, wanted.options, dealt(wanted))
    inside = [str(ready(recipe, None, print)), "-P", "-m", recipe.inside, str(tmp_path)]
    code = run_to_end(inside, what="it", seconds=120, log=tmp_path / "log.txt", cwd=tmp_path)
    said = f"RuntimeError: {recipe.title} must be version 0.0.1, whose messages are known; got {recipe.version}"
    assert code
    assert (tmp_path / ERROR).read_text() == said
    assert not (tmp_path / CAPTURE).exists()


def test_fate(tmp_path):
    """All scores and labels at random initialisation; labels are proved, since batches recur."""
    given = ("epochs=10", "batch_size=50", "enrolled=true")
    capture, truth = trained(tmp_path / "out", "fate", "binary", "sklearn:breast_cancer", *given, own_share=0.1)
    found = guess(UnblindedLabels, capture, "fintech", SecretKind.LABELS, "bank")
    labels = truth.of(Secret(SecretKind.LABELS, "bank"))
    assert np.array_equal(found.values[:, 0], labels.values[np.searchsorted(labels.ids, found.ids), 0])
    assert found.status is Status.RECOVERED
    scores = guess(UnblindedScores, capture, "bank", SecretKind.PARTIAL_SCORES, "fintech")
    weights = {r.round + 1: r.value.values for r in capture.locals["fintech"] if r.name == "weights"}
    cells = truth.of(Secret(SecretKind.FEATURES, "fintech"))
    rows = cells.values[np.searchsorted(cells.ids, scores.ids[:, 1])]
    expected = np.einsum("ij,ij->i", rows, np.stack([weights[number] for number in scores.ids[:, 0].tolist()]))
    assert np.abs(scores.values[:, 0] - expected).max() < 1e-4
    (service,) = asked_services(capture).values()
    answered = service.answer(Array(np.vstack([np.zeros((1, 27)), np.eye(27)]))).messages[0].payload.values
    assert np.abs(answered[1:] - answered[0] - weights[max(weights)]).max() < 1e-4


def test_fate_with_its_random_factor(tmp_path):
    """Changed to apply it: nothing opens, and the integer beside each label has the plaintext's sign."""
    given = ("epochs=2", "batch_size=50", "blinded=true")
    capture, truth = trained(tmp_path / "out", "fate", "binary", "sklearn:breast_cancer", *given, own_share=0.1)
    assert guess(UnblindedLabels, capture, "fintech", SecretKind.LABELS, "bank").status is Status.UNDETERMINED
    assert guess(UnblindedScores, capture, "bank", SecretKind.PARTIAL_SCORES, "fintech").status is Status.UNDETERMINED
    cells, labels = (truth.of(Secret(kind, "bank")) for kind in (SecretKind.FEATURES, SecretKind.LABELS))
    weights = {r.round + 1: r.value.values for r in capture.locals["bank"] if r.name == "weights"}
    batches = {m.round: m.payload.values for m in capture.transcript.messages if m.step == "train.batch"}
    sent = [m for m in capture.transcript.messages if m.step == "train.encrypted-score" and m.sender == "bank"]
    assert len(sent) == 8
    for message in sent:
        rows = np.searchsorted(cells.ids, batches[message.round])
        parts = 0.25 * (cells.values[rows] @ weights[message.round]) - (labels.values[rows, 0] - 0.5)
        assert np.array_equal(message.payload.signs, np.sign(parts))
    found = guess(CiphertextSign, capture, "fintech", SecretKind.LABELS, "bank")
    assert np.mean(found.values[:, 0] == labels.values[np.searchsorted(labels.ids, found.ids), 0]) > 0.8


@pytest.mark.parametrize(("packed", "least"), [("true", 0.8), ("false", 1.0)])
def test_secureboost_of_fate(tmp_path, packed, least):
    """Who shares a leaf tells labels; gradients that are not packed are not blinded, and open."""
    given = ("rounds=2", "depth=2", "bins=8", f"packed={packed}")
    capture, truth = trained(
        tmp_path / "out", "fate-secureboost", "binary", "sklearn:breast_cancer", *given, max_rows=60
    )
    attack = MemberClustering if packed == "true" else BareCiphertexts
    found = guess(attack, capture, "fintech", SecretKind.LABELS, "bank")
    labels = truth.of(Secret(SecretKind.LABELS, "bank"))
    same = np.mean(found.values[:, 0] == labels.values[np.searchsorted(labels.ids, found.ids), 0])
    assert max(same, 1 - same if packed == "true" else same) >= least
    assert {m.step for m in capture.transcript.messages} >= {"train.node-rows", "train.routing"}


def test_nvflare(tmp_path):
    """Products of the other site's columns; the server has them of that site alone."""
    capture, truth = trained(tmp_path / "out", "nvflare", "binary", flags(tmp_path, 16), "rounds=16", target="y")
    guessed = guess(ColumnProducts, capture, "clinic", SecretKind.COLUMN_PRODUCTS, "hospital")
    assert np.array_equal(guessed.values, products(truth, "hospital"))
    sent = guess(SentProducts, capture, "server", SecretKind.COLUMN_PRODUCTS, "hospital")
    assert np.array_equal(sent.values, products(truth, "hospital"))
