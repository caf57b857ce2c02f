"""Inner products of a partner's rows, and its table, from how its embeddings move."""

from __future__ import annotations

import re

import numpy as np
import pytest

from federations import run
from fedleak.attacks.networks.embedding_gram import EmbeddingGram, EmbeddingGramInversion
from fedleak.core.adversary import Secret
from fedleak.core.attack import Status
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.theory.condition import State
from fedleak.theory.embedding_steps import EmbeddingSteps
from network_runs import cut_table, split

pytest.importorskip("torch")

MOVING = {"trained": True, "batches": "shuffled", "bottom": ("linear 4",), "precision": "float64", "rounds": 4}
DEEP = ("linear 8", "activation tanh")


def guessed(attack=None, knowledge=None, *, widths=None, owner="fintech", n_rows=20, **changes):
    settings = {**MOVING, "batch_size": n_rows, "top": DEEP, **changes}
    result = run(split(cut_table(widths or {"bank": 3, "fintech": 4}, n_rows=n_rows, **settings)))
    attack = attack or EmbeddingGram()
    target = Secret(attack.produces, owner)
    view = result.view(("bank",), target, result.transcript.facts, knowledge=knowledge)
    return attack.run(view, rng=np.random.default_rng(0)), result.truth.of(target)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, 1e-9),
        ({"rounds": 2, "bottom": ("linear 8",)}, 1e-9),
        ({"bottom": ("linear 4 bias=false",)}, 1e-9),
        ({"precision": "float32", "rounds": 8, "learning_rate": 1.0}, 1e-2),
        ({"batch_size": 5, "rounds": 48, "top": ()}, 1e-8),
        ({"widths": {"bank": 2, "fintech": 3, "shop": 2}, "owner": "shop"}, 1e-9),
    ],
)
def test_inner_products_come_out_as_well_as_is_said(changes, error) -> None:
    guess, truth = guessed(**changes)
    assert guess.status is Status.RECOVERED
    size = np.linalg.norm(truth.values)
    off = np.linalg.norm(guess.values - truth.values) / size
    assert off < error
    assert off <= 3 * float(guess.evidence["expected relative error"])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"bottom": ("linear 4", "activation relu")}, "must be one linear layer"),
        ({"optimiser": "adam"}, "plain gradient steps"),
        ({"trained": False}, "plain gradient steps"),
        ({"rounds": 1}, "no update"),
        ({"rounds": 2, "bottom": ("linear 2",)}, "no equations to spare|equations for"),
        ({"batch_size": 5, "rounds": 12, "top": ()}, "visits are needed"),
        ({"precision": "float32", "top": (), "rounds": 8}, "moves it by"),
    ],
)
def test_what_the_updates_do_not_fix_is_left_open(changes, why) -> None:
    guess, _ = guessed(**changes)
    assert guess.status is Status.UNDETERMINED
    assert len(guess.values) == 0
    assert re.search(why, guess.why)


def test_known_cells_turn_the_table_into_place() -> None:
    rows, columns = np.divmod(np.arange(0, 80, 3), 4)
    federation = split(cut_table({"bank": 3, "fintech": 4}, n_rows=20, **{**MOVING, "batch_size": 20, "top": DEEP}))
    table = federation.parties[1].train
    known = KnownCells("fintech", table.ids[rows], columns, table.features[rows, columns])
    guess, truth = guessed(EmbeddingGramInversion(), Knowledge(cells=(known,)))
    assert guess.status is Status.RECOVERED
    assert guess.values == pytest.approx(truth.values, abs=1e-6)


def test_the_theorem_counts_the_updates_that_differ() -> None:
    """Behind a linear top of two classes all outputs move along one line: rounds count, not outputs."""
    for top, rounds, enough in (((), 4, State.FAILS), ((), 5, State.HOLDS), (DEEP, 2, State.HOLDS)):
        changes = {**MOVING, "batch_size": 20, "top": top, "rounds": rounds}
        facts = run(split(cut_table({"bank": 3, "fintech": 4}, n_rows=20, **changes))).transcript.facts
        found = EmbeddingSteps.assess(facts.seen_by(("bank",), None))
        assert next(c.state for c in found.conditions if "updates enough" in c.statement) is enough
