"""Figure 8: what fake features do to the model's loss (breast cancer, vertical logistic regression)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.payload import Array
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.randomness import Randomness
from fedleak.deviations.extra_columns import FakeFeatures
from fedleak.papers.dealing import deal_columns
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2021.tables import paper_table
from fedleak.papers.li2021.vertical_run import ARBITER, ATTACKER, VICTIM
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.vertical_arbiter import VerticalLogisticArbiter, VerticalLogisticArbiterSettings
from fedleak.trial.play import play
from fedleak.trial.progress import Progress

RATES = (0.0, 0.1, 0.3, 0.5, 1.0)  # fake over real features
SCALES = (0.1, 1.0)  # the paper: "relatively small randomly distributed values"; 1 is as large as the real ones
N_OWN, N_ROWS, N_TEST, EPOCHS = 15, 400, 169, 60


class Fig8(Experiment):
    name = "li2021/fig8"
    summary = "the training loss and the held-out accuracy under fake features of the active party"
    reference = Reference("li2021", "figure 8")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        epochs = 15 if quick else EPOCHS
        cases = [(scale, rate) for scale in SCALES for rate in RATES]
        progress.begin(self.name, len(cases))
        for scale, rate in cases:
            runs = [_losses(rate, scale, epochs, seed) for seed in self.seeds(quick=quick)]
            losses = np.mean([run[0] for run in runs], axis=0)
            progress.advance()
            for epoch in sorted({0, 1, 2, 5, 10, 15, 20, 30, 45, epochs} & set(range(epochs + 1))):
                yield Row(
                    setting={"fake_scale": scale, "fake_attribute_rate": rate, "iteration": epoch},
                    measured={
                        "loss": float(losses[min(epoch, len(losses) - 1)]),
                        "test_accuracy": float(np.mean([run[1] for run in runs])),
                    },
                    note="the paper shows curves without numbers",
                )

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return tuple(_panel(scale, rows) for scale in SCALES)


def _panel(scale: float, rows: Sequence[Row]) -> Panel:
    curves = []
    for rate in RATES:
        mine = [
            row for row in rows if row.setting["fake_attribute_rate"] == rate and row.setting["fake_scale"] == scale
        ]
        x = [float(str(row.setting["iteration"])) for row in mine]
        curves.append(Curve(f"FAR {rate:g}", x, [row.measured["loss"] or 0.0 for row in mine]))
    return Panel(f"breast cancer, fakes of scale {scale:g}", "iteration", "training loss", curves)


def _losses(rate: float, scale: float, epochs: int, seed: int) -> tuple[FloatArray, float]:
    """The loss that the arbiter opens in every round, and the accuracy on rows that were held out."""
    rng = np.random.default_rng([seed, 8])
    table = paper_table("breast-cancer", binary=True)
    order, columns = rng.permutation(len(table.values)), rng.permutation(table.values.shape[1])
    train, test = order[:N_ROWS], order[N_ROWS : N_ROWS + N_TEST]
    shares = {ATTACKER: columns[:N_OWN], VICTIM: columns[N_OWN:]}
    parties = deal_columns(
        table.values, table.columns, table.labels, shares, rows=train, held_out=test, arbiter=ARBITER
    )
    settings = VerticalLogisticArbiterSettings(
        batch_size=N_ROWS, epochs=epochs + 1, learning_rate=0.15, cipher="sealed", key_bits=1024, l2=0.01
    )
    n_fake = round(rate * table.values.shape[1])
    federation = Federation(VerticalLogisticArbiter.name, parties, settings)
    fakes = FakeFeatures(count=n_fake, scale=scale)
    run = play(federation, Randomness.published(seed, "li2021/fig8"), deviation=fakes, deviating=ATTACKER).run
    opened = [
        r.value.values[0] for r in run.locals[ARBITER] if r.name == linear.LOSS.name and isinstance(r.value, Array)
    ]
    return np.array(opened, dtype=np.float64), run.utility["test_accuracy"]
