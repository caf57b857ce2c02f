"""A bottom network that was trained on others' labels, completed with a few known ones."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.model_completion import ModelCompletion
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.scenario import KnowledgeSpec
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import ScenarioError
from fedleak.core.knowledge import Knowledge, KnownLabels
from fedleak.core.payload import Array
from fedleak.core.whole.randomness import Randomness
from fedleak.deviations.longer_steps import AcceleratedSteps, _Behaviour
from fedleak.models.few_labels import class_chances
from fedleak.trial.play import play
from network_runs import cut_pictures, cut_table, split

pytest.importorskip("torch")

TARGET = Secret(SecretKind.LABELS, "bank")
TRAINED = {"trained": True, "batches": "shuffled", "rounds": 12, "batch_size": 12, "learning_rate": 0.3}


def known(played, rows) -> Knowledge:
    truth = played.run.truth.of(TARGET)
    return Knowledge(labels=(KnownLabels("bank", truth.ids[rows], truth.values[rows, 0]),))


def test_known_rows_are_said_as_known_and_one_class_says_nothing() -> None:
    played = play(split(cut_table(n_rows=24, **TRAINED)), Randomness.published(0))
    labels = played.run.truth.of(TARGET).values[:, 0]
    rows = [int(np.flatnonzero(labels == kind)[0]) for kind in (0, 1)]
    guess = played.attempt(ModelCompletion(), ("fintech",), TARGET, known(played, rows), isolated=False).guess
    assert guess.values[rows, 0].tolist() == [0.0, 1.0]
    assert guess.confidence[rows, 0].tolist() == [1.0, 1.0]
    alone = played.attempt(ModelCompletion(), ("fintech",), TARGET, known(played, rows[:1]), isolated=False).guess
    assert alone.status is Status.UNDETERMINED
    assert np.isnan(alone.values).all()


def test_pictures_and_more_classes_than_are_known() -> None:
    played = play(split(cut_pictures(n_rows=12, **{**TRAINED, "batch_size": 6})), Randomness.published(0))
    guess = played.attempt(ModelCompletion(), ("fintech",), TARGET, known(played, [0, 1]), isolated=False).guess
    assert set(np.unique(guess.values)) <= {0.0, 1.0}, "of the third class nothing is known"
    assert (guess.confidence >= 1 / 3).all()


def test_the_head_finds_classes_that_a_line_parts() -> None:
    rng = np.random.default_rng(0)
    classes = np.arange(80) % 2
    rows = np.column_stack([4.0 * classes + rng.normal(size=80), rng.normal(size=(80, 70))])
    few = np.arange(20)
    chances = class_chances(rows[:, :4], few, classes[:20], 2)
    assert (np.argmax(chances, axis=1) == classes)[20:].mean() > 0.9
    assert class_chances(rows, few, classes[:20], 2).shape == (80, 2), "of many columns, the leading directions"
    assert np.array_equal(class_chances(rows, few[:0], classes[:0], 2), np.full((80, 2), 0.5))


def test_longer_steps_grow_where_the_sign_stays_and_nowhere_else() -> None:
    class Given:
        def __init__(self, *values: float) -> None:
            self.values = np.array(values)

        def gradient(self):
            return {"0.weight": self.values}

    behaviour = _Behaviour(AcceleratedSteps())

    def stepped(*values: float) -> list[float]:
        tree = behaviour.lengthened(Given(*values), None, np.random.default_rng(0))
        part = tree.items["0.weight"]
        assert isinstance(part, Array)
        return part.values.tolist()

    assert stepped(1.0, 1.0, 1.0, 0.0) == [1.0, 1.0, 1.0, 0.0]
    assert stepped(1.0, -1.0, 0.5, 1.0) == pytest.approx([2.0, -1.0, 0.75, 1.0])
    assert stepped(100.0, -1.0, 0.5, 1.0)[0] == pytest.approx(500.0), "no factor is beyond the largest"


def test_a_dishonest_partner_changes_its_own_steps_alone() -> None:
    honest, longer = (
        play(split(cut_table(**TRAINED)), Randomness.published(0), deviation=deviation, deviating=party)
        for deviation, party in ((None, None), (AcceleratedSteps(), "fintech"))
    )
    first = [[message.payload.values for message in played.run.transcript.messages][:3] for played in (honest, longer)]
    assert all(np.array_equal(one, other) for one, other in zip(*first, strict=True)), "the first batch is as it was"
    last = [[message.payload.values for message in played.run.transcript.messages][-1] for played in (honest, longer)]
    assert not np.array_equal(*last)


def test_labels_are_drawn_by_class_and_not_all_of_them() -> None:
    federation = split(cut_table(n_rows=24))
    rng = np.random.default_rng(0)
    (found,) = draw_knowledge(KnowledgeSpec(labels=3), federation, ("fintech",), rng).labels
    rows = federation.party("bank").train
    assert np.array_equal(found.values, rows.labels[np.isin(rows.ids, found.ids)])
    assert np.bincount(found.values.astype(int)).tolist() == [3, 3]
    assert draw_knowledge(KnowledgeSpec(labels=3), federation, ("bank",), rng).labels == ()
    with pytest.raises(ScenarioError, match="must leave rows of bank to guess; all 24 would be known"):
        draw_knowledge(KnowledgeSpec(labels=24), federation, ("fintech",), rng)
