"""Inner products of a partner's rows from how its embeddings move while a split network trains.

A bottom of one linear layer has outputs E = X W + 1 b. Gradient descent on the gradient G(t) that the label holder
sends back changes them by

    E(t+1) - E(t) = -rate C G(t),   C = X X^T + 1 1^T   (without a bias: X X^T),

the update rule of Li et al. 2021, eq. 3, with an equation for each output instead of one. A batch of all rows: as
there, C = P M P^T with P a basis of what the embeddings span. Batches that differ: every visit to row i has as many
equations as outputs in the unknowns (X W(0) + b(0))_i and C_i.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fedleak.attacks.gram.gram_estimate import COLLINEAR, GramSolution, factored, symmetric_metric
from fedleak.attacks.verdicts import NotIdentified
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array
from fedleak.core.view import View
from fedleak.models.layers import Linear, layer_of_line
from fedleak.protocols.networks import vocabulary as networks

MOST_ROWS = 400  # of batches that differ: a system of as many unknowns is solved for each row
WIDEST = 64  # of one batch of all rows
STANDS_OUT = 30.0  # rounding errors: a direction that embeddings have less of holds no digit


@dataclass(frozen=True, eq=False)
class EmbeddingRound:
    rows: IntArray  # positions of the batch among all ids
    embeddings: FloatArray  # (batch, outputs)
    gradients: FloatArray  # of the batch's mean loss, as they were sent


@dataclass(frozen=True, eq=False)
class EmbeddingCourse:
    ids: IntArray
    rate: float
    with_bias: bool
    rounds: tuple[EmbeddingRound, ...]
    error: float  # of an entry of an embedding, by its precision

    @property
    def repeats(self) -> bool:
        return all(len(one.rows) == len(self.ids) for one in self.rounds)

    def disturbed(self, rng: np.random.Generator) -> EmbeddingCourse:
        """With rounding errors drawn once more."""
        drawn = [self.error * rng.standard_normal(one.embeddings.shape) for one in self.rounds]
        moved = [replace(one, embeddings=one.embeddings + more) for one, more in zip(self.rounds, drawn, strict=True)]
        return replace(self, rounds=tuple(moved))

    def gram(self, width: int) -> GramSolution | NotIdentified:
        """Of rows of so many columns."""
        return _of_one_batch(self, width) if self.repeats else _of_all_rows(self, width)


def read_course(view: View, owner: str) -> EmbeddingCourse | NotIdentified:
    """What the label holder received of a partner and sent back; or why the update rule does not hold."""
    facts = view.facts.of(networks.NetworkFacts)
    layers = None if facts.bottom is None else [layer_of_line(line) for line in facts.bottom]
    if layers is None or len(layers) != 1 or not isinstance(layers[0], Linear):
        return _open("the partner's network must be one linear layer; " + _named(facts.bottom))
    if facts.optimiser != "sgd" or not facts.trained or view.facts.learning_rate is None:
        return _open(f"parameters must take plain gradient steps; optimiser {facts.optimiser}, trained {facts.trained}")
    batches = {message.round: _values(message.payload) for message in view.at(networks.BATCH)}
    back = {m.round: _values(m.payload) for m in view.at(networks.EMBEDDING_GRADIENTS) if m.receiver == owner}
    sent = {m.round: _values(m.payload) for m in view.at(networks.EMBEDDINGS) if m.sender == owner}
    numbers = [number for number in sorted(batches) if number in sent and number in back]
    if len(numbers) < len(batches) or not numbers:
        raise MissingFromViewError(f"embeddings of {owner} and their gradients must be there for every batch")
    ids = np.unique(np.concatenate([batches[number] for number in numbers])).astype(np.int64)
    place = positions_of(ids)
    rounds = tuple(
        EmbeddingRound(
            np.array([place[int(row)] for row in batches[number]], dtype=np.int64),
            sent[number].astype(np.float64),
            back[number].astype(np.float64),
        )
        for number in numbers
    )
    largest = max(float(np.abs(one.embeddings).max()) for one in rounds)
    error = float(np.finfo(sent[numbers[0]].dtype).eps) * max(largest, 1e-300)
    return EmbeddingCourse(ids, view.facts.learning_rate, layers[0].bias, rounds, error)


def _of_one_batch(course: EmbeddingCourse, width: int) -> GramSolution | NotIdentified:
    ordered = [np.argsort(one.rows) for one in course.rounds]
    embeddings = [one.embeddings[order] for one, order in zip(course.rounds, ordered, strict=True)]
    gradients = [one.gradients[order] for one, order in zip(course.rounds, ordered, strict=True)]
    if len(embeddings) < 2:
        return _open("one round shows no update")
    basis, sizes, _ = np.linalg.svd(np.hstack(embeddings), full_matrices=False)
    floor = STANDS_OUT * course.error * float(np.sqrt(len(course.ids) + embeddings[0].shape[1] * len(embeddings)))
    rank = min(int(np.sum(sizes > floor)), width + course.with_bias)
    if not 0 < rank <= WIDEST:
        return _open(f"embeddings span {rank} directions; from 1 to {WIDEST} are solved for")
    basis = basis[:, :rank]
    moves = np.hstack([after - before for before, after in pairwise(embeddings)])
    pushes = -course.rate * np.hstack(gradients[:-1])
    # Where the embeddings lack a direction of the rows, only equations to spare show it.
    if 2 * moves.shape[1] < rank + 3:
        return _open(f"{moves.shape[1]} updates of {rank} coordinates leave no equations to spare")
    metric = symmetric_metric(basis.T @ moves, basis.T @ pushes)
    if isinstance(metric, NotIdentified):
        return replace(metric, undetermined=True)  # equations beyond the linear ones are not counted
    method = f"{len(moves[0])} updates of one batch of {len(course.ids)} rows"
    noise = course.error * float(np.sqrt(moves.size)) / metric.smallest
    return _solution(
        course, basis @ metric.matrix @ basis.T, width, noise, method, metric.condition, metric.unexplained
    )


def _of_all_rows(course: EmbeddingCourse, width: int) -> GramSolution | NotIdentified:
    n_rows, n_outputs = len(course.ids), course.rounds[0].embeddings.shape[1]
    visits = np.bincount(np.concatenate([one.rows for one in course.rounds]), minlength=n_rows)
    if int(visits.min()) * n_outputs < n_rows + n_outputs:
        fewest = -(-(n_rows + n_outputs) // n_outputs)
        return _open(f"a row is visited {visits.min()} times or more; {fewest} visits are needed for {n_rows} rows")
    if n_rows > MOST_ROWS:
        return _open(f"{n_rows} rows are over the budget of {MOST_ROWS}")
    designs, values = _equations(course)
    gram, worst = np.zeros((n_rows, n_rows)), 1.0
    for row, (design, value) in enumerate(zip(designs, values, strict=True)):
        scale = np.maximum(np.linalg.norm(design, axis=0), 1e-300)
        solution, _, rank, singular = np.linalg.lstsq(design / scale, value, rcond=COLLINEAR)
        if rank < n_rows + n_outputs:
            return _open(f"the updates span {rank} of {n_rows + n_outputs} directions")
        gram[row] = (solution / scale)[n_outputs:]
        worst = max(worst, float(singular[0] / singular[-1]))
    asymmetry = float(np.linalg.norm(gram - gram.T, 2)) / 2  # a symmetric matrix was not asked for: this is pure error
    method = f"batches that differ, all {n_rows} rows"
    return _solution(course, gram, width, asymmetry, method, worst, gram - gram.T)


def _equations(course: EmbeddingCourse) -> tuple[list[FloatArray], list[FloatArray]]:
    """Of every row: (visits x outputs, outputs + rows), and what was seen."""
    n_rows, n_outputs = len(course.ids), course.rounds[0].embeddings.shape[1]
    pushed = np.zeros((n_rows, n_outputs))  # c(t)
    designs: list[list[FloatArray]] = [[] for _ in range(n_rows)]
    values: list[list[FloatArray]] = [[] for _ in range(n_rows)]
    for one in course.rounds:
        block = np.hstack([np.eye(n_outputs), pushed.T])
        for row, seen in zip(one.rows, one.embeddings, strict=True):
            designs[int(row)].append(block)
            values[int(row)].append(seen)
        np.add.at(pushed, one.rows, -course.rate * one.gradients)
    return [np.vstack(blocks) for blocks in designs], [np.concatenate(seen) for seen in values]


def _solution(
    course: EmbeddingCourse,
    products: FloatArray,
    width: int,
    noise: float,
    method: str,
    condition: float,
    unexplained: FloatArray,
) -> GramSolution:
    """Of X alone: the bias is a column of ones beside it."""
    gram = products - 1.0 if course.with_bias else products
    factor, n_solid = factored(gram, width, noise)
    return GramSolution(factor, np.zeros(len(gram)), method, condition, n_solid, unexplained)


def _open(why: str) -> NotIdentified:
    return NotIdentified(why, 0, undetermined=True)


def _named(bottom: tuple[str, ...] | None) -> str:
    return "it is not known" if bottom is None else f"got {', '.join(bottom)}"


def _values(payload: object) -> FloatArray:
    if not isinstance(payload, Array):
        raise MissingFromViewError(f"batches, embeddings and gradients must be arrays; got {type(payload).__name__}")
    return np.asarray(payload.values)
