"""When gradients over known batches determine every row's input of the first fully connected layer (Jin et al. 2021).

The paper asks for K < N (theorem 1) and for N < d_2 with independent v_n (theorem 2). The second is not needed: the
normal equations of step II are (V V^T o S^T S) H = R, and by the Schur product theorem they have one solution where
S^T S is positive definite and no v_n is zero. Nor are N batches needed: where no row is in another's shadow (in each of
its batches), the ranges of a row's gradients meet in its v_n.
"""

from __future__ import annotations

from math import ceil, log

from fedleak.core.adversary import Capability
from fedleak.core.attack import Prediction, Reference, Verdict
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.models.layers import Activation, BatchNorm, Dropout, Layer, Linear, layer_of_line
from fedleak.protocols.networks.vocabulary import SHUFFLED, NetworkFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, revealed

FEW_SHADOWS = 0.5  # expected pairs of rows, one in the other's shadow


def batches_for_sums(n_rows: int, batch_size: int, *, shuffled: bool) -> int:
    """So many batches give S full rank (drawn: almost surely). The indicators of every epoch that deals all rows out
    sum to the same: of P batches the first epoch adds P to the rank, each later one P - 1, and its last batch none."""
    per_epoch = ceil(n_rows / batch_size)
    if not shuffled or per_epoch == 1:
        return n_rows
    epochs, more = divmod(n_rows - 1, per_epoch - 1)
    return epochs * per_epoch + more - (1 if not more and epochs > 1 else 0)


def batches_for_spans(n_rows: int, batch_size: int, *, shuffled: bool) -> int:
    """So many batches leave no row in another's shadow, by expectation; the union bound over all pairs."""
    beside = (batch_size - 1) / (n_rows - 1)  # a given other row is in a batch that holds the row
    if shuffled:
        pairs = n_rows * (n_rows - 1) / 2
        epochs = 2 if not beside else max(2, ceil(log(pairs / FEW_SHADOWS) / -log(beside)))
        return epochs * ceil(n_rows / batch_size)
    parted = batch_size / n_rows * (1 - beside)  # a batch holds the one and not the other
    return ceil(log(n_rows * (n_rows - 1) / FEW_SHADOWS) / -log(1 - parted))


class BatchesOfKnownRows(Theorem):
    name = "jin2021/theorem-1"
    summary = "with batches smaller than the data, bias gradients over known batches determine every row's v_n"
    reference = Reference("jin2021", "theorem 1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (*_seen(facts), _smaller_batches(facts), _fixed(facts)),
            conclusion="the gradient v_n of every row's loss by the first fully connected layer's output is determined",
        )


class IndependentRowGradients(Theorem):
    """The paper's condition; the v_n are at a worker, so that d_2 is the width of one worker's layer."""

    name = "jin2021/theorem-2"
    summary = "with N < d_2 and independent v_n, descent on the weight gradients finds every row's hidden input"
    reference = Reference("jin2021", "theorem 2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        width, n_rows = _width(facts), facts.n_rows
        statement = "N < d_2, rows fewer than the layer has outputs"
        if width is None or n_rows is None:
            fewer = Condition(statement, State.UNKNOWN, "a figure is missing")
        else:
            fewer = Condition(statement, State.HOLDS if n_rows < width else State.FAILS, f"{n_rows} and {width}")
        rank = Condition("Rank(V) = N", State.UNKNOWN, "only a run shows it")
        return Assessment(
            cls.name, (*_seen(facts), fewer, rank, _fixed(facts)), conclusion="the input h_n of every row is determined"
        )


class SeparableBatches(Theorem):
    """Weaker conditions than the paper's, and how many batches they take."""

    name = "fedleak/separable-batches"
    summary = "K < N, enough batches and v_n other than zero determine every row's hidden input, whatever d_2 is"
    reference = Reference("fedleak", "docs/theory/jin2021.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (*_seen(facts), _smaller_batches(facts), _fixed(facts), _rows_apart(facts), _enough(facts), _alive(facts)),
            conclusion="the input h_n of every row with v_n other than zero is determined; of a table, that is the row",
        )


def predicted_separation(facts: Facts, *, pictures: bool = False) -> Prediction:
    """Exact for a table where all conditions hold. Where it only is unknown whether some v_n are zero, in part."""
    assessment = SeparableBatches.assess(facts)
    states = {condition.statement: condition.state for condition in assessment.conditions}
    others = {state for statement, state in states.items() if statement != ALIVE}
    if _smaller_batches(facts).state is State.FAILS:
        return Prediction(Verdict.IMPOSSIBLE, assessment.reasons)
    if others != {State.HOLDS}:
        return Prediction(Verdict.UNKNOWN, assessment.reasons)
    if pictures:
        through = "pictures are matched through convolutions: no theorem says how well"
        return Prediction(Verdict.PARTIAL, (through, *assessment.reasons))
    verdict = Verdict.EXACT if states[ALIVE] is State.HOLDS else Verdict.PARTIAL
    return Prediction(verdict, (assessment.conclusion, *assessment.reasons))


ALIVE = "no row's v_n is zero"


def _seen(facts: Facts) -> tuple[Condition, ...]:
    return revealed(Capability.BATCH_IDS, facts), revealed(Capability.LAYER_GRADIENTS, facts), _biased(facts)


def _smaller_batches(facts: Facts) -> Condition:
    statement = "K < N, batches smaller than the data"
    if facts.batch_size is None or facts.n_rows is None:
        return Condition(statement, State.UNKNOWN, "a figure is missing")
    holds = facts.batch_size < facts.n_rows
    return Condition(statement, State.HOLDS if holds else State.FAILS, f"{facts.batch_size} and {facts.n_rows}")


def _fixed(facts: Facts) -> Condition:
    statement = "parameters stay the same over the batches"
    trained = facts.of(NetworkFacts).trained
    if trained is None:
        return Condition(statement, State.UNKNOWN, "not known")
    if trained:
        return Condition(statement, State.UNKNOWN, "they train: how far they move is not known before")
    return Condition(statement, State.HOLDS, "they do not train")


def _enough(facts: Facts) -> Condition:
    own, statement = facts.of(NetworkFacts), "there are enough batches"
    if facts.n_rows is None or facts.batch_size is None or own.n_batches is None or own.batches is None:
        return Condition(statement, State.UNKNOWN, "a figure is missing")
    if facts.batch_size >= facts.n_rows:
        return Condition(statement, State.FAILS, "every batch holds all rows")
    shuffled, width = own.batches == SHUFFLED, _narrowest(facts)
    by_sums = batches_for_sums(facts.n_rows, facts.batch_size, shuffled=shuffled)
    by_spans = batches_for_spans(facts.n_rows, facts.batch_size, shuffled=shuffled)
    spans = width is not None and facts.batch_size <= width
    needed = min(by_sums, by_spans) if spans else by_sums
    state = State.HOLDS if own.n_batches >= needed else State.UNKNOWN
    return Condition(statement, state, f"{own.n_batches}, where {needed} are enough")


def _rows_apart(facts: Facts) -> Condition:
    statement = "a row's gradient does not depend on the others of its batch"
    layers = _layers(facts)
    if layers is None:
        return Condition(statement, State.UNKNOWN, "the layers are not known")
    mixing = [str(layer) for layer in layers if isinstance(layer, BatchNorm | Dropout)]
    return Condition(statement, State.UNKNOWN if mixing else State.HOLDS, ", ".join(mixing) or "no norm, no dropout")


def _alive(facts: Facts) -> Condition:
    """Of a layer with dead units v_n may be zero: no gradient then holds the row."""
    layers = _layers(facts)
    if layers is None:
        return Condition(ALIVE, State.UNKNOWN, "the layers are not known")
    dying = any(isinstance(layer, Activation) and layer.how == "relu" for layer in layers)
    return Condition(ALIVE, State.UNKNOWN if dying else State.HOLDS, "relu may be dead" if dying else "no relu")


def _biased(facts: Facts) -> Condition:
    statement = "the first fully connected layer has a bias"
    first = _first_linear(facts)
    if first is None:
        return Condition(statement, State.UNKNOWN, "the layers are not known")
    return Condition(statement, State.HOLDS if first.bias else State.FAILS, str(first))


def _layers(facts: Facts) -> tuple[Layer, ...] | None:
    own = facts.of(NetworkFacts)
    if own.bottom is None:
        return None
    try:
        return tuple(layer_of_line(line) for line in (*own.bottom, *(own.top or ())))
    except InputError:
        return None


def _first_linear(facts: Facts) -> Linear | None:
    return next((layer for layer in _layers(facts) or () if isinstance(layer, Linear)), None)


def _width(facts: Facts) -> int | None:
    first = _first_linear(facts)
    return None if first is None else first.width


def _narrowest(facts: Facts) -> int | None:
    """Of what goes into the first fully connected layer and what comes out: ranges are no wider."""
    layers, width = _layers(facts), _width(facts)
    if layers is None or width is None:
        return None
    outside = [p.n_features for p in facts.parties if p.name not in facts.adversary and p.n_features]
    return min(width, *outside) if isinstance(layers[0], Linear) and outside else width
