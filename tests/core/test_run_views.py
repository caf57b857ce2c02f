"""What a coalition's view leaves out of a run."""

from __future__ import annotations

import pytest

from federations import run, sealed_arbiter, seen, vertical
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.transcript import OPENS

PROTOCOL = "vertical-logistic-arbiter"


def opened(coalition: tuple[str, ...]) -> list[str]:
    """Names of the records that stand in for the arbiter's key, in the view of a coalition."""
    federation = vertical({"bank": 3, "shop": 4, "referee": 0}, sealed_arbiter(), protocol=PROTOCOL)
    view = seen(run(federation), coalition, Secret(SecretKind.RESIDUALS, JOINT), PROTOCOL)
    return [name for member in coalition for name in view.names(member) if name.startswith(OPENS)]


def test_an_arbiter_alone_opens_no_residual_that_it_was_never_sent():
    assert opened(("referee",)) == []


@pytest.mark.parametrize("partner", ["bank", "shop"])
def test_with_who_has_the_message_the_key_opens_it(partner):
    assert len(opened(("referee", partner))) == 16  # scores and residuals: 24 rows in batches of 6, twice
