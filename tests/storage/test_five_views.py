"""Five very different situations fit the types: each view is saved, loaded, and read as an attack would read it.

The fixtures are made by hand, in the shape in which the real protocols send things.
"""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest

from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.errors import BudgetSpentError, NotReplayableError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownCells, KnownColumn, KnownLabels, PublicSample
from fedleak.core.oracle import Answer, LiveOracle, OracleSpec
from fedleak.core.payload import Array, CipherArray, IntegerArray, ModelSpec, Payload, Scalar, Table, Tree
from fedleak.core.steps import DATA_ROLES, Phase, Role, Step
from fedleak.core.transcript import EVERYONE, SETUP_ROUND, Message, Record
from fedleak.core.view import View
from fedleak.protocols.linear.vocabulary import BATCH, ENCRYPTED_SCORE, OPENED_PRODUCT, PUBLIC_KEY
from fedleak.storage import load_view, save_view
from fedleak.storage.capture_and_truth import DiskSink

PARTIES = (PartyFacts("bank", Role.ACTIVE, 2), PartyFacts("fintech", Role.PASSIVE, 3))
FEATURES = Secret(SecretKind.FEATURES, "fintech")


def _step(name: str, phase: Phase = Phase.TRAIN) -> Step[object]:
    return Step(name, phase, DATA_ROLES, "of these tests")


def _reloaded(view: View, folder: Path) -> View:
    save_view(view, folder / "view")
    return load_view(folder / "view")


# 1. Packed ciphertexts and masked residues of vertical logistic regression

MODULUS = (1 << 2047) + 1942289  # of the right size; nothing here needs its factors
FRACTION_BITS, SLOT_BITS, N_SLOTS = 16, 64, 4


def _pack(values: list[float]) -> int:
    """Slot i holds value i in fixed point, modulo 2**64."""
    slots = [round(value * 2**FRACTION_BITS) % 2**SLOT_BITS for value in values]
    return sum(slot << (SLOT_BITS * position) for position, slot in enumerate(slots))


def _unpack(packed: int) -> list[float]:
    slots = [(packed >> (SLOT_BITS * position)) % 2**SLOT_BITS for position in range(N_SLOTS)]
    return [(slot - 2**SLOT_BITS if slot >> (SLOT_BITS - 1) else slot) / 2**FRACTION_BITS for slot in slots]


def test_packed_ciphertexts(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    one, other = rng.integers(0, 256, (2, 512), dtype=np.uint8)
    ciphertexts = CipherArray("bank", "paillier", np.stack([one, other, one]), (3,), FRACTION_BITS)
    mask, product = MODULUS - 12345, _pack([0.5, -1.25, 3.0, -0.125])
    masked = IntegerArray.from_ints([(product + mask) % MODULUS], 256)
    packing = {"slot_bits": Scalar(SLOT_BITS), "n_slots": Scalar(N_SLOTS)}
    view = View(
        ("fintech",),
        Secret(SecretKind.RESIDUALS, "bank"),
        Facts("vertical-logistic", PARTIES, batch_size=3, cipher="paillier", key_bits=2048, fraction_bits=16),
        (
            Message(PUBLIC_KEY.name, SETUP_ROUND, "bank", EVERYONE, Scalar(MODULUS)),
            Message(ENCRYPTED_SCORE.name, 0, "bank", "fintech", Tree({"packed": ciphertexts, **packing})),
            Message(OPENED_PRODUCT.name, 0, "bank", "fintech", masked),
        ),
        {"fintech": (Record("train.masked-product", 0, "mask", IntegerArray.from_ints([mask], 256)),)},
    )
    loaded = _reloaded(view, tmp_path)

    (key,) = loaded.at(PUBLIC_KEY)
    assert isinstance(key.payload, Scalar)
    modulus = key.payload.value
    assert isinstance(modulus, int)
    (scores,) = loaded.at(ENCRYPTED_SCORE, receiver="fintech")
    assert isinstance(scores.payload, Tree)
    packed = scores.payload.items["packed"]
    assert isinstance(packed, CipherArray)
    _, same_as = np.unique(packed.data, axis=0, return_inverse=True)  # equal ciphertexts are visible
    assert same_as.ravel()[0] == same_as.ravel()[2] != same_as.ravel()[1]
    (opened,) = loaded.at(OPENED_PRODUCT)
    known_mask = loaded.record("mask", party="fintech")
    assert isinstance(opened.payload, IntegerArray)
    assert isinstance(known_mask, IntegerArray)
    residue = (opened.payload.to_ints()[0] - known_mask.to_ints()[0]) % modulus
    assert _unpack(residue) == [0.5, -1.25, 3.0, -0.125]


# 2. A prediction service that answers partial scores

WEIGHTS = np.array([0.5, -2.0, 1.0])


def _score_service(budget: int) -> LiveOracle:
    def serve(batch: Payload) -> Answer:
        assert isinstance(batch, Array)
        score = Array(batch.values @ WEIGHTS)
        return Answer((Message("predict.partial-score", 0, "fintech", "bank", score),))

    return LiveOracle(OracleSpec("scores", "rows of the fintech's columns", "one partial score a row", budget), serve)


def _weights_by_querying(view: View) -> np.ndarray:
    answer = view.oracles["scores"].query(Array(np.eye(3)))
    payload = answer.messages[0].payload
    assert isinstance(payload, Array)
    return payload.values


def test_prediction_service(tmp_path: Path) -> None:
    facts = Facts("vertical-logistic", PARTIES).seen_by(("bank",), frozenset({Capability.PREDICTION_SERVICE}))
    target = Secret(SecretKind.WEIGHTS, "fintech")
    view = View(("bank",), target, facts, (), {}, oracles={"scores": _score_service(budget=2)})
    np.testing.assert_array_equal(_weights_by_querying(view), WEIGHTS)
    loaded = _reloaded(view, tmp_path)

    with pytest.raises(NotReplayableError, match="not in the log; attach a live oracle"):
        loaded.oracles["scores"].query(Array(np.ones((1, 3))))
    np.testing.assert_array_equal(_weights_by_querying(loaded), WEIGHTS)  # replayed
    with pytest.raises(NotReplayableError):
        _weights_by_querying(loaded)  # it was asked once only

    live = load_view(tmp_path / "view", {"scores": _score_service(budget=2)})
    for _ in range(2):
        np.testing.assert_array_equal(_weights_by_querying(live), WEIGHTS)
    with pytest.raises(BudgetSpentError, match="budget of 2 queries is spent"):
        _weights_by_querying(live)
    assert live.facts.capabilities == {Capability.PREDICTION_SERVICE}


# 3. Boosted trees over two parties: histograms and splits in training, one message a hop in prediction

GRADIENTS, HISTOGRAMS = _step("train.encrypted-gradients"), _step("train.encrypted-histograms")
SPLIT, ROUTING = _step("train.split"), _step("train.routing")
HOP = _step("predict.hop", Phase.PREDICT)
THRESHOLD = 37.3  # the secret of the passive party's node


def _ciphers(rng: np.random.Generator, *shape: int) -> CipherArray:
    data = rng.integers(0, 256, (prod(shape), 32), dtype=np.uint8)
    return CipherArray("bank", "paillier", data, shape, FRACTION_BITS)


def _gradient_sums(rng: np.random.Generator, n: int) -> Tree:
    return Tree({"g": _ciphers(rng, n), "h": _ciphers(rng, n)})


def _hop_service() -> LiveOracle:
    """Row 'age' goes left at the passive party's node 1 if it is at most the threshold, then reaches a leaf."""

    def serve(batch: Payload) -> Answer:
        assert isinstance(batch, Array)
        next_nodes = np.where(batch.values <= THRESHOLD, 3, 4)
        question = Tree({"node": Scalar(1), "rows": Array(np.arange(len(next_nodes)))})
        ask = Message(HOP.name, 0, "bank", "fintech", question)
        reply = Message(HOP.name, 0, "fintech", "bank", Tree({"next_nodes": Array(next_nodes)}))
        return Answer((ask, reply))

    return LiveOracle(OracleSpec("predictions", "values of one column", "one message a hop", 20), serve)


def _bisect(view: View, low: float, high: float, n_queries: int) -> tuple[float, float]:
    """Halve the interval that contains the threshold, by the node that the service sends a row to."""
    for _ in range(n_queries):
        middle = (low + high) / 2
        hops = view.oracles["predictions"].query(Array(np.array([middle]))).messages
        reply = next(hop.payload for hop in hops if hop.receiver == "bank")
        assert isinstance(reply, Tree)
        next_nodes = reply.items["next_nodes"]
        assert isinstance(next_nodes, Array)
        low, high = (middle, high) if next_nodes.values[0] == 3 else (low, middle)
    return low, high


def test_boosted_trees(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    n_rows, n_bins = 6, 4
    histogram = {f"feature-{index}": _gradient_sums(rng, n_bins) for index in range(3)}
    opened = rng.random((3, n_bins, 2)).cumsum(axis=1)
    split = Tree({"node": Scalar(1), "feature": Scalar(2), "bin": Scalar(1)})
    goes_left = np.array([True, False, True, True, False, False])
    view = View(
        ("bank",),
        Secret(SecretKind.THRESHOLDS, "fintech"),
        Facts("secureboost", PARTIES),
        (
            Message(GRADIENTS.name, 0, "bank", "fintech", _gradient_sums(rng, n_rows)),
            Message(HISTOGRAMS.name, 0, "fintech", "bank", Tree({"node-1": Tree(histogram)})),
            Message(SPLIT.name, 0, "bank", "fintech", split),
            Message(ROUTING.name, 0, "fintech", "bank", Tree({"node": Scalar(1), "goes_left": Array(goes_left)})),
        ),
        {"bank": (Record(HISTOGRAMS.name, 0, "node-1", Array(opened)),)},
        Knowledge(columns=(KnownColumn("fintech", "age", ColumnKind.NUMERIC, 0.0, 100.0),)),
        {"predictions": _hop_service()},
    )
    found = _bisect(view, 0.0, 100.0, 10)
    loaded = _reloaded(view, tmp_path)

    (sent,) = loaded.at(HISTOGRAMS, receiver="bank")
    assert isinstance(sent.payload, Tree)
    by_feature = sent.payload.items["node-1"]
    assert isinstance(by_feature, Tree)
    assert [cumulative.items["g"].shape for cumulative in by_feature.items.values()] == [(n_bins,)] * 3  # type: ignore[union-attr]
    np.testing.assert_array_equal(loaded.array("node-1").values, opened)
    (chosen,), (routing,) = loaded.at(SPLIT), loaded.at(ROUTING)
    assert chosen.payload.items["feature"] == Scalar(2)  # type: ignore[union-attr]
    assert routing.payload.items["goes_left"].values.tolist() == goes_left.tolist()  # type: ignore[union-attr]
    column = loaded.knowledge.columns[0]
    assert column.low is not None
    assert column.high is not None
    low, high = _bisect(loaded, column.low, column.high, 10)  # the same questions: the log answers
    assert (low, high) == found
    assert low <= THRESHOLD < high
    assert high - low < 0.1


# 4. A model and what it says about known rows


def _network() -> ModelSpec:
    rng = np.random.default_rng(4)
    config = {"input": "1x4x4", "0.kind": "conv", "0.padding": 0, "1.kind": "relu", "2.kind": "dense"}
    arrays = {
        "0.weight": rng.standard_normal((2, 1, 3, 3), dtype=np.float32),
        "0.stride": np.array([1, 1]),
        "2.weight": rng.standard_normal((3, 8), dtype=np.float32),
        "2.bias": np.zeros(3, dtype=np.float32),
    }
    return ModelSpec("network", config, arrays)


def _tree() -> ModelSpec:
    return ModelSpec(
        "decision-tree",
        {"n_classes": 2, "root": 0},
        {
            "feature": np.array([0, -1, 1, -1, -1], dtype=np.int32),
            "threshold": np.array([0.5, np.nan, 2.0, np.nan, np.nan]),
            "left": np.array([1, -1, 3, -1, -1], dtype=np.int32),
            "right": np.array([2, -1, 4, -1, -1], dtype=np.int32),
            "value": np.array([[0, 0], [0.9, 0.1], [0, 0], [0.3, 0.7], [0.0, 1.0]]),
        },
    )


def _paths(model: ModelSpec, confidence: np.ndarray) -> list[tuple[int, ...]]:
    """The ways from the root to leaves with that confidence."""
    children = list(zip(model.arrays["left"].tolist(), model.arrays["right"].tolist(), strict=True))
    found, waiting = [], [(int(model.config["root"] or 0),)]
    while waiting:
        path = waiting.pop()
        if children[path[-1]] == (-1, -1):
            if np.array_equal(model.arrays["value"][path[-1]], confidence):
                found.append(path)
        else:
            waiting.extend((*path, child) for child in children[path[-1]])
    return found


def test_model_and_confidences(tmp_path: Path) -> None:
    ids = np.array([10, 11])
    confidences = np.array([[0.3, 0.7], [0.9, 0.1]])
    own = Table(("age", "income"), ids, np.array([[0.7, 1.0], [0.1, 5.0]]))
    sample = Table(("spending",), np.array([900, 901]), np.array([[1.0], [3.0]]))
    view = View(
        ("bank",),
        FEATURES,
        Facts("vertical-prediction", PARTIES),
        (Message("predict.confidence", 0, "fintech", "bank", Table(("no", "yes"), ids, confidences)),),
        {
            "bank": (
                Record("setup.model", SETUP_ROUND, "network", _network()),
                Record("setup.model", SETUP_ROUND, "tree", _tree()),
                Record("setup.own-data", SETUP_ROUND, "own-features", own),
            )
        },
        Knowledge(
            cells=(KnownCells("fintech", np.array([10]), np.array([0]), np.array([1.5])),),
            samples=(PublicSample("fintech", sample),),
            labels=(KnownLabels("fintech", np.array([10, 11]), np.array([1.0, 0.0])),),
        ),
    )
    loaded = _reloaded(view, tmp_path)

    tree, network = loaded.record("tree"), loaded.record("network")
    assert isinstance(tree, ModelSpec)
    assert isinstance(network, ModelSpec)
    (answers,) = (message.payload for message in loaded.messages)
    assert isinstance(answers, Table)
    assert [_paths(tree, row) for row in answers.values] == [[(0, 2, 3)], [(0, 1)]]
    layers = [network.config[f"{index}.kind"] for index in range(3)]
    assert layers == ["conv", "relu", "dense"]
    assert network.arrays["0.weight"].shape == (2, 1, 3, 3)
    assert network.arrays["0.weight"].dtype == np.float32
    table = loaded.record("own-features")
    assert isinstance(table, Table)
    assert table.columns == ("age", "income")
    assert loaded.knowledge.cell_mask("fintech", answers.ids, (1,)).tolist() == [[True], [False]]
    assert loaded.knowledge.samples[0].rows.values.mean() == 2.0
    assert loaded.knowledge.labels_of("fintech", np.array([11, 9, 10])).tolist() == pytest.approx(
        [0, np.nan, 1], nan_ok=True
    )


# 5. Thousands of gradients that everybody sees


def test_streamed_gradients(tmp_path: Path) -> None:
    n_rounds, batch_size, n_features = 1500, 4, 3
    rng = np.random.default_rng(5)
    rows, errors = rng.standard_normal((40, n_features)), rng.standard_normal(40)
    gradient = _step("train.layer-gradients")
    facts = Facts("federated-sgd", PARTIES, n_rows=40, batch_size=batch_size)
    with DiskSink(tmp_path / "run") as sink:
        for number in range(n_rounds):
            batch = rng.choice(40, batch_size, replace=False)
            layers = {
                "dense": Tree(
                    {"weight": Array(errors[batch] @ rows[batch]), "bias": Array(errors[batch].sum(keepdims=True))}
                ),
                "head": Array(np.full(2, number, dtype=np.float32)),
            }
            sink.message(Message(BATCH.name, number, "bank", EVERYONE, Array(batch)))
            sink.message(Message(gradient.name, number, "fintech", EVERYONE, Tree(layers)))
        captured = sink.finish(facts)
    adversary = Secret(SecretKind.FEATURES, "fintech")
    loaded = _reloaded(View(("observer",), adversary, facts, captured.transcript.messages, captured.locals), tmp_path)

    assert len(loaded.messages) == 2 * n_rounds
    assert [message.round for message in loaded.messages[-2:]] == [n_rounds - 1] * 2
    membership, sums = np.zeros((n_rounds, 40)), np.zeros((n_rounds, n_features + 1))
    for number, (batch_ids, layers_sent) in enumerate(zip(loaded.at(BATCH), loaded.at(gradient), strict=True)):
        assert isinstance(batch_ids.payload, Array)
        membership[number, batch_ids.payload.values] = 1
        dense = layers_sent.payload.items["dense"].items  # type: ignore[union-attr]
        sums[number] = [*dense["weight"].values, *dense["bias"].values]
    # Each row's own gradient: the sums over random batches are linear equations in them.
    own_gradients, *_ = np.linalg.lstsq(membership, sums, rcond=None)
    np.testing.assert_allclose(own_gradients[:, :-1] / own_gradients[:, -1:], rows, rtol=1e-6)
