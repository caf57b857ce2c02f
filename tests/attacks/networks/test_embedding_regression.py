"""A partner's columns from its embeddings, learnt on known cells."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run
from fedleak.attacks.networks.embedding_regression import EmbeddingRegression
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.knowledge import Knowledge, KnownCells
from network_runs import cut_table, split

pytest.importorskip("torch")

TARGET = Secret(SecretKind.FEATURES, "fintech")


def guessed(n_known: int, **changes):
    """All cells of the first rows are known."""
    result = run(
        split(cut_table(n_rows=40, **{"rounds": 8, "batches": "shuffled", "bottom": ("linear 6",), **changes}))
    )
    truth = result.truth.of(TARGET)
    rows, columns = np.divmod(np.arange(4 * n_known), 4)
    known = KnownCells("fintech", truth.ids[rows], columns, truth.values[rows, columns])
    view = result.view(("bank",), TARGET, result.transcript.facts, knowledge=Knowledge(cells=(known,)))
    return EmbeddingRegression().run(view, rng=np.random.default_rng(0)), truth.values


def test_a_linear_network_is_undone() -> None:
    guess, truth = guessed(20)
    assert guess.values == pytest.approx(truth, abs=1e-3)
    assert guess.evidence["largest error of left-out cells"] < 1e-3


def test_what_embeddings_do_not_keep_is_not_told() -> None:
    """One number cannot hold four independent columns, and the left-out cells say so."""
    guess, truth = guessed(20, bottom=("linear 1",))
    assert guess.status is Status.PARTIAL
    assert guess.evidence["largest error of left-out cells"] > 0.5
    assert np.sqrt(np.mean((guess.values - truth)[20:] ** 2)) > 0.5 * truth.std()


def test_two_known_rows_are_too_few() -> None:
    guess, _ = guessed(2)
    assert guess.status is Status.UNDETERMINED
    assert guess.why == "no column has 3 known cells in rows that were embedded"
