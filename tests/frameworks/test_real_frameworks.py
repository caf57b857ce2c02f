"""Real frameworks, from their installation to the leak: minutes, so behind a switch (``make frameworks``)."""

from __future__ import annotations

import os

import numpy as np
import pytest

from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.attacks.boosting.offered_splits import OfferedIntervals, OfferedThresholds
from fedleak.attacks.boosting.sample_gradients import SampleGradients
from fedleak.attacks.residuals.unblinded_exchange import UnblindedLabels, UnblindedScores
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.view import View
from fedleak.data import DataSpec
from fedleak.frameworks.capturing import Wanted, captured
from fedleak.frameworks.recipe import recipe_of
from fedleak.storage.capture_and_truth import load_capture, load_truth

SWITCH = "FEDLEAK_FRAMEWORK_TESTS"
pytestmark = pytest.mark.skipif(
    os.environ.get(SWITCH) != "1", reason=f"real frameworks are tried where {SWITCH}=1 (make frameworks)"
)
RNG = np.random.default_rng(0)


def trained(out, name, task, source, *given, target=None, own_share=0.5):
    recipe = recipe_of(name)
    spec = DataSpec(source=source, target=target, task=task, scaling=recipe.scaling, max_rows=200)
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
    capture, truth = trained(tmp_path / "out", "xgboost", task, source, "rounds=5", "depth=4")
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


def test_flower(tmp_path):
    """Products of the other client's columns, from a plain run."""
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 2, (16, 7))
    cells[:2, -1] = 0, 1
    lines = ["a,b,c,d,e,f,y", *(",".join(map(str, row)) for row in cells)]
    (tmp_path / "flags.csv").write_text("\n".join(lines))
    given = ("rounds=16",)
    capture, truth = trained(tmp_path / "out", "flower", "binary", str(tmp_path / "flags.csv"), *given, target="y")
    guessed = guess(ColumnProducts, capture, "clinic", SecretKind.COLUMN_PRODUCTS, "hospital")
    rows = truth.of(Secret(SecretKind.FEATURES, "hospital")).values
    signs = 2 * truth.of(Secret(SecretKind.LABELS, "hospital")).values - 1
    assert np.array_equal(guessed.values, np.hstack([rows.T @ rows, rows.T @ signs]))


def test_fate(tmp_path):
    """All scores at random initialisation, and all labels but those of large scores."""
    given = ("epochs=10", "batch_size=50")
    capture, truth = trained(tmp_path / "out", "fate", "binary", "sklearn:breast_cancer", *given, own_share=0.1)
    found = guess(UnblindedLabels, capture, "fintech", SecretKind.LABELS, "bank")
    labels = truth.of(Secret(SecretKind.LABELS, "bank"))
    assert np.mean(found.values[:, 0] == labels.values[np.searchsorted(labels.ids, found.ids), 0]) > 0.98
    scores = guess(UnblindedScores, capture, "bank", SecretKind.PARTIAL_SCORES, "fintech")
    weights = {r.round + 1: r.value.values for r in capture.locals["fintech"] if r.name == "weights"}
    cells = truth.of(Secret(SecretKind.FEATURES, "fintech"))
    rows = cells.values[np.searchsorted(cells.ids, scores.ids[:, 1])]
    expected = np.einsum("ij,ij->i", rows, np.stack([weights[number] for number in scores.ids[:, 0].tolist()]))
    assert np.abs(scores.values[:, 0] - expected).max() < 1e-4
