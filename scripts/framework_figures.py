"""What captures of frameworks give away: the figures of the frameworks' pages.

python scripts/framework_figures.py CAPTURE_FOLDER ...
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from fedleak.attacks.boosting.offered_splits import OfferedIntervals
from fedleak.attacks.boosting.sample_gradients import SampleGradients
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Attack, Guess
from fedleak.core.view import View
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import Truth
from fedleak.storage.capture_and_truth import load_capture, load_truth

WITHIN = 0.01  # of a column's range


def guess(attack: Attack, capture: Captured, party: str, target: Secret) -> Guess:
    messages = capture.transcript.concerning(frozenset({party}))
    view = View((party,), target, capture.transcript.facts, messages, {party: capture.locals.get(party, ())})
    return attack.run(view, rng=np.random.default_rng(0))


def labels(capture: Captured, truth: Truth) -> str:
    target = Secret(SecretKind.LABELS, "bank")
    true = truth.of(target).values[:, 0]
    found = guess(SampleGradients(), capture, "aggregator", target).values[:, 0]
    worst = np.abs(found - true).max() / np.ptp(true)
    return f"labels {int((np.abs(found - true) < 0.5).sum())}/{len(true)}, largest error {worst:.1e} of the range"


def ranges(capture: Captured, truth: Truth, owner: str) -> str:
    cells = truth.of(Secret(SecretKind.FEATURES, owner))
    found = guess(OfferedIntervals(), capture, "aggregator", Secret(SecretKind.RANGES, owner))
    own = cells.values[np.searchsorted(cells.ids, found.ids)]
    assert found.intervals is not None
    low, high = found.intervals[..., 0], found.intervals[..., 1]
    both = np.isfinite(low) & np.isfinite(high)
    holds = (low <= own) & (own <= high)
    near = np.abs(found.values - own) <= WITHIN * (cells.highest - cells.lowest)
    return (
        f"ranges of {owner}: {holds.mean():.4%} hold ({holds[both].mean():.4%} of two-sided), two-sided "
        f"{both.mean():.1%}, cells within 1 % {near.sum() / cells.values.size:.1%}"
    )


def main(folders: list[str]) -> None:
    for name in folders:
        capture, truth = load_capture(Path(name) / "capture"), load_truth(Path(name) / "truth")
        told = [labels(capture, truth), *(ranges(capture, truth, owner) for owner in ("bank", "fintech"))]
        print("; ".join([name, *told]))


if __name__ == "__main__":
    main(sys.argv[1:])
