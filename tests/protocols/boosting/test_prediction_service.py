"""Made-up records are predicted for whoever may enrol them: hop by hop or as scores, within budgets."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, model_of, with_features
from federations import run
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import BudgetSpentError, OracleError
from fedleak.core.payload import Array, Scalar
from fedleak.core.view import View
from fedleak.models.tree_models import NO_CHILD
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.storage.view_and_guess import load_view, save_view

THREE = {"bank": 2, "fintech": 4, "shop": 3}
RECORDS = np.random.default_rng(6).uniform(-0.5, 0.5, (40, 9))


def view_of(result, coalition: tuple[str, ...] = ("bank",)) -> View:
    target = Secret(SecretKind.THRESHOLDS, "fintech")
    return result.view(coalition, target, result.transcript.facts.seen_by(coalition, frozenset()))


def leaves_from(view: View, messages, records: np.ndarray) -> np.ndarray:
    """What the label holder works out: its own hops from its splits, its partners' from the messages."""
    held = view.record(boosting.TREES).items
    starts = np.concatenate([[0], np.cumsum(held["sizes"].values)[:-1]])
    told = {}
    for message in messages:
        parts = [message.payload.items[name].values.tolist() for name in ("rows", "trees", "nodes", "left")]
        told |= {(row, tree, node): left for row, tree, node, left in zip(*parts, strict=True)}
    found = np.zeros((len(records), len(starts)), dtype=np.int64)
    for row, record in enumerate(records):
        for tree, start in enumerate(starts):
            node = 0
            while held["left"].values[start + node] != NO_CHILD:
                place = start + node
                own = held["owner"].values[place] == 0
                left = (
                    record[held["column"].values[place]] <= held["threshold"].values[place]
                    if own
                    else told[row, tree, node]
                )
                node = int(held["left" if left else "right"].values[place])
            found[row, tree] = node
    return found


def test_hops_lead_to_the_models_leaves():
    result = run(boosted(THREE, enrolled_records=True))
    view = view_of(result)
    answer = view.oracles[boosting.ROUTING_SERVICE].query(Array(RECORDS))
    assert {message.sender for message in answer.messages} == {"fintech", "shop"}
    assert all(message.step == boosting.HOP.name and message.receiver == "bank" for message in answer.messages)
    assert np.array_equal(leaves_from(view, answer.messages, RECORDS), model_of(result).leaves_of(RECORDS))


def test_missing_cells_are_routed():
    result = run(boosted(THREE, enrolled_records=True, prediction="scores"))
    records = np.where(np.random.default_rng(1).random(RECORDS.shape) < 0.3, np.nan, RECORDS)
    answer = view_of(result).oracles[boosting.SCORE_SERVICE].query(Array(records))
    assert np.array_equal(answer.messages[0].payload.values, model_of(result).scores(records))


def test_scores_alone_show_no_hops():
    result = run(boosted(THREE, enrolled_records=True, prediction="scores"))
    oracles = view_of(result).oracles
    assert set(oracles) == {boosting.SCORE_SERVICE}
    (message,) = oracles[boosting.SCORE_SERVICE].query(Array(RECORDS)).messages
    assert (message.step, message.sender) == (boosting.SCORES.name, boosting.ROUTING_COMPUTATION)
    assert np.array_equal(message.payload.values, model_of(result).scores(RECORDS))


@pytest.mark.parametrize("coalition", [("fintech",), ("fintech", "shop")])
def test_only_the_label_holder_may_ask(coalition):
    assert not view_of(run(boosted(THREE, enrolled_records=True)), coalition).oracles


def test_nobody_may_ask_where_enrolling_is_not_declared():
    assert not view_of(run(boosted(THREE))).oracles


def test_the_budget_of_queries():
    oracle = view_of(run(boosted(THREE, enrolled_records=True, query_budget=2))).oracles["routing"]
    oracle.query(Array(RECORDS))
    oracle.query(Array(RECORDS))
    with pytest.raises(BudgetSpentError, match="the budget of 2 queries is spent"):
        oracle.query(Array(RECORDS))
    assert len(oracle.log) == 2


def test_the_budget_of_records():
    oracle = view_of(run(boosted(THREE, enrolled_records=True, record_budget=50))).oracles["routing"]
    oracle.query(Array(RECORDS))
    with pytest.raises(BudgetSpentError, match="the budget of 50 records has 10 left; got 40"):
        oracle.query(Array(RECORDS))
    oracle.query(Array(RECORDS[:10]))
    with pytest.raises(BudgetSpentError, match="has 0 left; got 1"):
        oracle.query(Array(RECORDS[:1]))


def test_budgets_hold_when_a_stored_view_is_asked_again(tmp_path):
    view = view_of(run(boosted(THREE, enrolled_records=True, record_budget=50)))
    first = view.oracles["routing"].query(Array(RECORDS))
    save_view(view, tmp_path / "view")
    again = load_view(tmp_path / "view").oracles["routing"]
    assert (again.spec.record_budget, again.spec.budget) == (50, None)
    assert len(again.query(Array(RECORDS)).messages) == len(first.messages)
    with pytest.raises(BudgetSpentError, match="has 10 left; got 40"):
        again.query(Array(RECORDS))


OUTSIDE = np.array([[0.5] * 4 + [1.5] + [0.5] * 4])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (Array(RECORDS[:, :5]), r"an array of records, 9 numbers each; got \(40, 5\)"),
        (Array(RECORDS[0]), r"an array of records, 9 numbers each; got \(9,\)"),
        (Scalar(3), "an array of records, 9 numbers each; got Scalar"),
        (Array(RECORDS[:0]), "one record of numbers or more"),
        (Array(RECORDS > 0), "one record of numbers or more; got bool"),
        (Array(np.full((2, 9), np.inf)), "record 0 of a query must have bank0 finite, or NaN"),
    ],
)
def test_a_malformed_query_is_one_clear_error(query, why):
    oracle = view_of(run(boosted(THREE, enrolled_records=True, record_budget=50))).oracles["routing"]
    with pytest.raises(OracleError, match=why):
        oracle.query(query)
    assert len(oracle.query(Array(RECORDS)).messages) > 0  # nothing was lost, nor counted


def test_a_feature_outside_its_range_is_told():
    unit = boosted(THREE, enrolled_records=True, unit_box=True)
    for party in unit.parties:
        features = (party.train.features - party.train.features.min()) / np.ptp(party.train.features)
        unit = with_features(unit, party.name, features)
    oracle = view_of(run(unit)).oracles["routing"]
    with pytest.raises(OracleError, match=r"must have fintech2 between 0 and 1, or NaN where it is missing; got 1\.5"):
        oracle.query(Array(OUTSIDE))
    assert oracle.query(Array(OUTSIDE - 0.5)).messages
