"""Boosted trees over encrypted gradients: what each party sees of a training, and of a prediction.

A bank (labels, 10 columns) and a partner (20 columns) train on the breast-cancer table that ships with scikit-learn.
The partner's values and thresholds never leave it; which way its nodes send every row does.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from sklearn.datasets import load_breast_cancer

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.payload import Array
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.trial.play import play

rows, labels = load_breast_cancer(return_X_y=True)
rows = (rows - rows.min(axis=0)) / np.ptp(rows, axis=0)
ids = np.arange(len(rows))
bank = Party("bank", Role.ACTIVE, tuple(f"b{i}" for i in range(10)), Slice(ids, rows[:, :10], labels))
partner = Party("partner", Role.PASSIVE, tuple(f"p{i}" for i in range(20)), Slice(ids, rows[:, 10:]))
settings = SecureBoostSettings(cipher="sealed", depth=3, unit_box=True, enrolled_records=True, record_budget=1000)

played = play(Federation("secureboost", (bank, partner), settings), Randomness.published(0))
print(f"accuracy on the training rows: {played.run.utility['train_accuracy']:.3f}")
for party in ("bank", "partner"):
    received = Counter(m.step for m in played.run.transcript.messages if m.receiver in (party, "*"))
    print(f"{party} receives " + ", ".join(f"{step} ({count})" for step, count in sorted(received.items())))

# The bank may enrol made-up records at the partner: every hop at the partner's nodes comes back.
view = played.view(("bank",), Secret(SecretKind.THRESHOLDS, "partner"))
answer = view.oracles["routing"].query(Array(np.random.default_rng(0).random((5, 30))))
hops = sum(len(message.payload.items["left"].values) for message in answer.messages)
print(f"5 made-up records: {hops} hops at the partner's nodes in {len(answer.messages)} messages")
