"""Which question of an impact assessment a finding is about."""

from __future__ import annotations

import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import ColumnResult, Finding, Mode, Outcome, Theory
from fedleak.core.risk import Risk, risks_of

COLUMNS = tuple(ColumnResult(name, 10, 0.0, 0.2, 1.0, 1.0, 1.0, 0.0, True) for name in ("income", "age"))


def finding(kind: SecretKind, outcome: Outcome, recovered: float | None = None, n_columns: int = 2) -> Finding:
    secret, theory = Secret(kind, "bank"), Theory("unknown", ())
    return Finding(
        *(("shop",), Mode.PASSIVE, "attack", secret, None, outcome, "", theory),
        cells_recovered=recovered,
        columns=COLUMNS[:n_columns],
    )


@pytest.mark.parametrize("kind", list(SecretKind))
def test_every_kind_of_secret_puts_a_question(kind):
    assert risks_of(kind)
    assert finding(kind, Outcome.SKIPPED).risks == risks_of(kind)


def test_values_are_inferred_records_single_out_and_alike_rows_link():
    assert risks_of(SecretKind.LABELS) == (Risk.INFERENCE,)
    assert risks_of(SecretKind.GRAM) == (Risk.LINKABILITY,)
    assert risks_of(SecretKind.RECORDS)[0] is risks_of(SecretKind.IMAGES)[0] is Risk.SINGLING_OUT


@pytest.mark.parametrize(
    ("outcome", "recovered", "n_columns", "singles_out"),
    [
        (Outcome.LEAK, 0.95, 2, True),
        (Outcome.LEAK, 0.95, 1, False),
        (Outcome.LEAK, 0.5, 2, False),
        (Outcome.LEAK, None, 2, False),
        (Outcome.NO_LEAK, 0.01, 2, True),  # it was to answer that
        (Outcome.UNCHECKED, None, 0, True),
    ],
)
def test_features_single_out_where_nearly_all_cells_of_several_columns_are_had(
    outcome, recovered, n_columns, singles_out
):
    found = finding(SecretKind.FEATURES, outcome, recovered, n_columns).risks
    assert (Risk.SINGLING_OUT in found) == singles_out
    assert Risk.INFERENCE in found
