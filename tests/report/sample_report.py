"""A report with every outcome: two adversaries and their coalition, two defenses, long reasons."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import Better, Claim, ColumnResult, Exhibit, Finding, Mode, Outcome, Score, Severity, Theory
from fedleak.core.report import Remedy, Report, RunSummary

BANK_LABELS = Secret(SecretKind.LABELS, "bank")
BANK_FEATURES = Secret(SecretKind.FEATURES, "bank")
FINTECH_FEATURES = Secret(SecretKind.FEATURES, "fintech")
FINTECH_SCORES = Secret(SecretKind.PARTIAL_SCORES, "fintech")
FINTECH_THRESHOLDS = Secret(SecretKind.THRESHOLDS, "fintech")

RUN_KEY = "00112233445566778899aabbccddeeff"
NOISE = "gaussian-noise(sigma=0.5)"
LARGE_BATCH = "large-batch(512)"
BLIND = {"test_accuracy": 0.627, "auc": 0.5}


def sample_report() -> Report:
    return Report(
        scenario=_scenario(),
        environment={
            "fedleak": "0.1.0",
            "python": "3.12.4",
            "numpy": "2.4.6",
            "machine": "x86_64, 8 cores",
            "seed": 20240611,
            "cipher": "paillier",
            "key_bits": 2048,
            "fraction_bits": 40,
            "command": "fedleak audit bank-and-fintech.toml --out fedleak-audit",
        },
        runs=(
            RunSummary(None, None, {"test_accuracy": 0.9649, "auc": 0.9931}, 41.2, (), BLIND),
            RunSummary(
                NOISE,
                None,
                {"test_accuracy": 0.9298, "auc": 0.9702},
                44.0,
                ("the noise is drawn anew in every round",),
                BLIND,
            ),
            RunSummary(LARGE_BATCH, None, {"test_accuracy": 0.9649, "auc": 0.9917}, 39.5, (), BLIND),
            RunSummary(None, "packed-ciphertexts", {"test_accuracy": 0.9649, "auc": 0.9931}, 43.7),
        ),
        findings=(*_fintech_findings(), *_bank_findings(), *_active_findings(), *_coalition_findings()),
        remedies=(
            Remedy(
                "Raise batch_size from 24 to 64: above fintech's 30 columns its gradient no longer fixes the residuals."
            ),
            Remedy("Do not let the arbiter decrypt for bank and fintech at once; give each pair a key of its own."),
            Remedy(
                f"residual-from-own-gradient by fintech on labels of bank is stopped by {LARGE_BATCH}.", LARGE_BATCH
            ),
        ),
        run_key=RUN_KEY,
    )


def _scenario() -> dict[str, object]:
    return {
        "title": "Bank and fintech",
        "seed": 20240611,
        "data": {"source": "sklearn:breast_cancer", "target": None, "scaling": "standard"},
        "protocol": "vertical-logistic",
        "settings": {"cipher": "paillier", "key_bits": 2048, "batch_size": 24, "learning_rate": 0.05, "epochs": 6},
        "parties": [
            {"name": "bank", "role": "active", "columns": ["mean radius", "mean texture", "mean perimeter"]},
            {"name": "fintech", "role": "passive", "columns": ["worst area", "worst smoothness"]},
            {"name": "arbiter", "role": "arbiter", "columns": []},
        ],
        "adversaries": [
            {"parties": ["fintech"], "mode": "passive", "knowledge": {"cells": 0.0, "ranges": True}},
            {"parties": ["bank"], "mode": "passive", "knowledge": {"cells": 0.02, "ranges": True}},
        ],
        "defenses": [{"name": "gaussian-noise", "sigma": 0.5}, {"name": "large-batch", "batch_size": 512}],
    }


def _accuracy(value: float, low: float, high: float) -> Score:
    return Score("label-accuracy", value, 0.627, Better.HIGHER, (low, high), 569)


def _error(value: float, low: float, high: float) -> Score:
    return Score("mse", value, 0.0312, Better.LOWER, (low, high), 5690)


def _label_exhibit(share_right: float) -> Exhibit:
    rng = np.random.default_rng(1)
    true = (rng.random(200) < 0.627).astype(np.float64)
    wrong = rng.random(200) >= share_right
    return Exhibit(true, np.where(wrong, 1 - true, true))


def _feature_exhibit(noise: float) -> Exhibit:
    rng = np.random.default_rng(2)
    true = rng.beta(2, 4, size=(60, 4))
    guessed = np.clip(true + rng.normal(0, noise, true.shape), 0, 1)
    guessed[:3, 0] = np.nan
    return Exhibit(true, guessed)


def _fintech_findings() -> tuple[Finding, ...]:
    fintech = ("fintech",)
    attack = "residual-from-own-gradient"
    return (
        Finding(
            fintech,
            Mode.PASSIVE,
            attack,
            BANK_LABELS,
            None,
            Outcome.LEAK,
            "every batch has at most as many rows as fintech has columns, so its own gradient fixes each residual",
            Theory(
                "exact",
                ("batch size 24 is at most the rank 30 of fintech's columns", "the residual's sign is the label"),
            ),
            severity=Severity.HIGH,
            score=_accuracy(1.0, 0.9935, 1.0),
            further_scores=(Score("auc", 1.0, 0.5, Better.HIGHER, (0.994, 1.0), 569),),
            evidence=(("largest residual of the linear systems", "3.1e-12"), ("batches solved", "144 of 144")),
            exhibit=_label_exhibit(1.0),
            seconds=0.84,
        ),
        Finding(
            fintech,
            Mode.PASSIVE,
            attack,
            BANK_LABELS,
            NOISE,
            Outcome.LEAK,
            "noise hides single residuals, but their mean over six epochs still shows most labels",
            Theory("unknown", ("no theorem covers noisy residuals over several epochs",)),
            severity=Severity.MEDIUM,
            score=_accuracy(0.812, 0.778, 0.842),
            exhibit=_label_exhibit(0.81),
            seconds=0.91,
        ),
        Finding(
            fintech,
            Mode.PASSIVE,
            attack,
            BANK_LABELS,
            LARGE_BATCH,
            Outcome.NOT_IDENTIFIABLE,
            "512 rows share 30 columns: the residuals lie in a null space of dimension 482",
            Theory("impossible", ("batch size 512 exceeds the 30 columns of fintech",)),
            seconds=0.12,
        ),
        Finding(
            fintech,
            Mode.PASSIVE,
            "gradient-sign-vote",
            BANK_LABELS,
            None,
            Outcome.NO_LEAK,
            "the interval holds the baseline",
            Theory("partial", ("each gradient's sign depends on the labels of its batch",)),
            score=_accuracy(0.641, 0.601, 0.68),
            exhibit=_label_exhibit(0.64),
            seconds=0.05,
        ),
        Finding(
            fintech,
            Mode.PASSIVE,
            "generative-regression",
            BANK_FEATURES,
            None,
            Outcome.SKIPPED,
            "needs the model's outputs for known rows, which fintech does not get in this protocol",
            Theory("unknown", ()),
        ),
        Finding(
            fintech,
            Mode.PASSIVE,
            "generative-regression",
            BANK_FEATURES,
            NOISE,
            Outcome.SKIPPED,
            "needs the model's outputs for known rows, which fintech does not get in this protocol",
            Theory("unknown", ()),
        ),
    )


def _bank_findings() -> tuple[Finding, ...]:
    bank = ("bank",)
    attack = "gram-from-partial-scores"
    return (
        Finding(
            bank,
            Mode.PASSIVE,
            attack,
            FINTECH_FEATURES,
            None,
            Outcome.LEAK,
            "144 iterations give the inner products of fintech's rows; 2 % known cells undo most of the rotation",
            Theory("impossible", ("fewer known cells than (n-1)(n-2)/2 leave a rotation open",)),
            severity=Severity.MEDIUM,
            score=_error(0.0041, 0.0036, 0.0047),
            cells_recovered=0.713,
            columns=(
                ColumnResult("worst area", 569, 0.0021, 0.1724, 0.998, 0.94),
                ColumnResult("worst smoothness", 569, 0.0484, 0.1391, 0.871, 0.486),
                ColumnResult("constant", 569, 0.0, 0.0, None, 1.0),
            ),
            claim=Claim("recovered", 1138, 0.92),
            evidence=(("condition of the system", "4.2e5"), ("candidates", "1")),
            exhibit=_feature_exhibit(0.05),
            seconds=12.4,
        ),
        Finding(
            bank,
            Mode.PASSIVE,
            attack,
            FINTECH_FEATURES,
            NOISE,
            Outcome.LEAK,
            "the noise blurs the inner products, not their mean",
            Theory("partial", ("noise of a known law averages out",)),
            severity=Severity.LOW,
            score=_error(0.0217, 0.0198, 0.0239),
            cells_recovered=0.084,
            exhibit=_feature_exhibit(0.14),
            seconds=13.0,
        ),
        Finding(
            bank,
            Mode.PASSIVE,
            attack,
            FINTECH_FEATURES,
            LARGE_BATCH,
            Outcome.ERRORED,
            "the linear system did not fit into the memory limit of 2 GiB",
            Theory("impossible", ("fewer known cells than (n-1)(n-2)/2 leave a rotation open",)),
            seconds=1.3,
        ),
        Finding(
            bank,
            Mode.PASSIVE,
            "score-difference",
            FINTECH_SCORES,
            None,
            Outcome.UNDETERMINED,
            "the budget of 10,000 restarts ended with two solutions that fit equally well",
            Theory("partial", ("successive scores differ by a known step",)),
            seconds=60.0,
        ),
        Finding(
            bank,
            Mode.PASSIVE,
            "score-sum",
            FINTECH_SCORES,
            None,
            Outcome.UNCHECKED,
            "one solution fits every round; the capture came without the partner's data",
            Theory("unknown", ()),
            severity=Severity.MEDIUM,
            claim=Claim("recovered", 3414),
            certificate="the scores are the only solution of 144 equations in 30 unknowns",
            seconds=0.4,
        ),
    )


def _active_findings() -> tuple[Finding, ...]:
    return (
        Finding(
            ("bank",),
            Mode.ACTIVE,
            "packed-ciphertext-probe",
            FINTECH_FEATURES,
            None,
            Outcome.LEAK,
            "one bit of each ciphertext selects one row, so the masked product is that row",
            Theory("exact", ("the arbiter decrypts what it is sent without a range check",)),
            severity=Severity.HIGH,
            score=_error(2.1e-13, 1.9e-13, 2.3e-13),
            cells_recovered=0.9996,
            exhibit=_feature_exhibit(0.0),
            seconds=7.7,
        ),
        Finding(
            ("bank",),
            Mode.ACTIVE,
            "threshold-bisection",
            FINTECH_THRESHOLDS,
            None,
            Outcome.SKIPPED,
            "needs a prediction service to query, which this protocol does not have",
            Theory("unknown", ()),
        ),
    )


def _coalition_findings() -> tuple[Finding, ...]:
    return (
        Finding(
            ("bank", "arbiter"),
            Mode.PASSIVE,
            "stacked-gradients",
            FINTECH_FEATURES,
            None,
            Outcome.LEAK,
            "shuffled batches give 144 independent equations for 30 unknowns a row",
            Theory("exact", ("the residuals of all batches have full rank",)),
            severity=Severity.HIGH,
            score=Score("cells-recovered", 0.893, 0.041, Better.HIGHER, (0.878, 0.907), 5690),
            further_scores=(_error(0.0009, 0.0007, 0.0012),),
            cells_recovered=0.893,
            exhibit=_feature_exhibit(0.02),
            seconds=2.2,
        ),
    )
