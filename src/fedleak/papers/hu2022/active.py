"""Section 5.2: the batch sizes that a party breaks by following the protocol, and by packing its products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import kstest

from fedleak.attacks.residuals.residual_recovery import (
    ClaimedResidualRecovery,
    PackedResidualRecovery,
    ResidualRecovery,
)
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.attack import Attack, Reference
from fedleak.core.errors import RunError
from fedleak.core.payload import CipherArray, IntegerArray, ScalarValue, Tree
from fedleak.core.transcript import Message
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Deviation
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run
from fedleak.deviations import DEVIATIONS
from fedleak.deviations.extra_columns import ClaimedColumns
from fedleak.papers.experiment import Bundled, Curve, Experiment, Panel, Row
from fedleak.papers.hu2022.printed import N_SLOTS
from fedleak.papers.hu2022.tables import deal, table_of
from fedleak.papers.summaries import means
from fedleak.protocols.linear.vertical_logistic import VerticalLogisticSettings
from fedleak.protocols.linear.vocabulary import MASKED_PRODUCT, OPENED_PRODUCT, PUBLIC_KEY
from fedleak.trial.play import Played, play
from fedleak.trial.progress import Progress

KEY_BITS = 2048
SOURCE = "sklearn:breast_cancer"
METHODS: tuple[type[Attack], ...] = (ResidualRecovery, PackedResidualRecovery, ClaimedResidualRecovery)
WIDTHS = {True: (2,), False: (2, 4)}


@dataclass(frozen=True)
class Looks:
    """How the masked ciphertexts look to the partner that decrypts them."""

    shapes: tuple[object, ...]
    residues: tuple[float, ...]  # decrypted values over the partner's modulus


class Active(Experiment):
    name = "hu2022/active"
    summary = "residuals recovered versus batch size, following the protocol and deviating from it, at 2048 bits"
    reference = Reference("hu2022", "section 5.2")
    needs = Bundled.ALWAYS

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cases = [
            (width, batch_size, adversary)
            for width in WIDTHS[quick]
            for batch_size in batch_sizes(width, quick=quick)
            for adversary in ("active", "passive")
        ]
        progress.begin(self.name, len(cases) * len(self.seeds(quick=quick)))
        for width, batch_size, adversary in cases:
            results = []
            for seed in self.seeds(quick=quick):
                results.append(measure(width, batch_size, adversary, seed))
                progress.advance()
            yield _row(width, batch_size, adversary, results)

    def panels(self, rows: list[Row] | tuple[Row, ...]) -> tuple[Panel, ...]:  # type: ignore[override]
        width = max(int(row.setting["columns"] or 0) for row in rows)
        mine = [row for row in rows if row.setting["columns"] == width]
        curves = [
            Curve(
                f"{figure.replace('_', ' ')}, {adversary} party",
                [float(row.setting["batch_size"] or 0) for row in mine if row.setting["adversary"] == adversary],
                [float(row.measured[figure] or 0.0) for row in mine if row.setting["adversary"] == adversary],
            )
            for adversary in ("active", "passive")
            for figure in ("following_protocol", "packed_products")
        ]
        return (Panel(f"residuals recovered, {width} own columns", "batch size", "share of rows", curves, log_x=True),)


def batch_sizes(width: int, *, quick: bool) -> tuple[int, ...]:
    """Up to the own columns, beyond, to the edge u d of the packing, and one row over it."""
    edge = N_SLOTS * width
    between = () if quick else (edge // 4,)
    return (width, width + 1, *between, edge, edge + 1)


def measure(width: int, batch_size: int, adversary: str, seed: int) -> tuple[dict[str, float], tuple[float, ...]]:
    """Share of residuals recovered by each method in one round; and what the partner decrypted of packed products."""
    settings = VerticalLogisticSettings(
        batch_size=batch_size, epochs=1, learning_rate=0.1, initialisation="xavier", key_bits=KEY_BITS
    )
    table = table_of(SOURCE, "standard+max-row-norm")
    columns = {"active": range(width), "passive": range(width, 2 * width)}
    parties = deal(table, columns, settings, n_rows=batch_size, seed=seed)
    found: dict[str, float] = {}
    looks: dict[str, Looks] = {}
    for method in METHODS:
        deviation = _deviation(parties, method, adversary, batch_size)
        played = play(parties, Randomness.published(seed, "hu2022/active"), deviation=deviation, deviating=adversary)
        found[_figure(method)] = _recovered(played, method, adversary)
        looks[method.name] = _looks(played.run, adversary)
    honest, packed = looks[ResidualRecovery.name], looks[PackedResidualRecovery.name]
    found["same_form_to_partner"] = float(honest.shapes == packed.shapes)
    found["in_range_to_partner"] = float(all(0 <= value < 1 for value in packed.residues))
    return found, packed.residues


def _figure(method: type[Attack]) -> str:
    return {
        "residual-recovery": "following_protocol",
        "packed-residual-recovery": "packed_products",
        "claimed-residual-recovery": "claimed_columns",
    }[method.name]


def _deviation(parties: Federation, method: type[Attack], adversary: str, batch_size: int) -> Deviation | None:
    if method is ClaimedResidualRecovery:
        return ClaimedColumns(n_extra=max(1, batch_size - len(parties.party(adversary).columns)))
    return None if method.deviation is None else DEVIATIONS.get(method.deviation)()


def _recovered(played: Played, method: type[Attack], adversary: str) -> float:
    """Share of residuals within 1e-6 of the truth, of which the largest is about 1/2."""
    target = Secret(SecretKind.RESIDUALS, JOINT)
    guess = played.attempt(method, (adversary,), target, scores=False).guess
    truth = played.run.truth.of(target)
    return float(np.mean(np.abs(guess.values[:, 0] - truth.values[:, 0]) <= 1e-6))


def _looks(run: Run, adversary: str) -> Looks:
    """What arrives at the partner for decryption: ciphertexts' number, length and key, and the opened residues."""
    masked = [message for message in run.transcript.messages if _is(message, MASKED_PRODUCT.name, adversary)]
    opened = [m for m in run.transcript.messages if m.step == OPENED_PRODUCT.name and m.receiver == adversary]
    shapes = tuple(
        (m.payload.shape, m.payload.data.shape, m.payload.scheme, m.payload.fraction_bits)
        for m in masked
        if isinstance(m.payload, CipherArray)
    )
    values = [value for m in opened if isinstance(m.payload, IntegerArray) for value in m.payload.to_ints()]
    modulus = _modulus_of_partner(run, adversary)
    return Looks(shapes, tuple(value / modulus for value in values))


def _modulus_of_partner(run: Run, adversary: str) -> int:
    for message in run.transcript.messages:
        if message.step == PUBLIC_KEY.name and message.sender != adversary and isinstance(message.payload, Tree):
            modulus = message.payload.items["modulus"]
            assert isinstance(modulus, IntegerArray)
            return modulus.to_ints()[0]
    raise RunError("the partner published no key")


def _is(message: Message, step: str, sender: str) -> bool:
    return message.step == step and message.sender == sender


def _row(width: int, batch_size: int, adversary: str, results: list[tuple[dict[str, float], tuple[float, ...]]]) -> Row:
    setting: dict[str, ScalarValue] = {
        "columns": width,
        "batch_size": batch_size,
        "adversary": adversary,
        "key_bits": KEY_BITS,
    }
    measured = means([one for one, _ in results])
    # Kolmogorov-Smirnov against the uniform distribution that honest masks give.
    measured["uniform_p_value"] = float(kstest([value for _, seen in results for value in seen], "uniform").pvalue)
    paper = {
        "following_protocol": 1.0 if batch_size <= width else 0.0,
        "packed_products": 1.0 if batch_size <= N_SLOTS * width else 0.0,
    }
    note = (
        "share of residuals within 1e-6; the paper's figures are its claims: s <= d, and s <= 31 d when packed. "
        "To the partner packed ciphertexts have the number, length, key and range of honest ones"
    )
    return Row(setting, measured, paper, None, note)
