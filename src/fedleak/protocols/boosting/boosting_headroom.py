"""Room for sums of gradients in a machine word and in a plaintext, from public sizes, before anything runs."""

from __future__ import annotations

from fedleak.core.errors import PlaintextRangeError, ScenarioError
from fedleak.core.facts import Facts
from fedleak.crypto.fixed_point import MARGIN_BITS
from fedleak.models.boosting.losses import LARGEST_HESSIAN, Objective
from fedleak.models.boosting.packed_gradients import Layout, layout_for
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.boosting.vocabulary import BoostingFacts


def check_boosting_headroom(settings: SecureBoostSettings, facts: Facts) -> None:
    """Gradients of classes are at most 1. Of a regression only hessians have a public bound, and the label holder
    checks its gradients itself; the same where nobody has said yet what the labels are."""
    if facts.n_rows is None:
        return
    named = facts.of(BoostingFacts).objective
    objective = Objective(named) if named else None
    factor = settings.sampling.largest_factor
    g_bound = 0.0 if objective in (None, Objective.SQUARED) else factor
    h_bound = (min(LARGEST_HESSIAN.values()) if objective is None else LARGEST_HESSIAN[objective]) * factor
    found = _layout(facts.n_rows, settings.fraction_bits, g_bound, h_bound)
    if found is None:
        fits = (bits for bits in range(settings.fraction_bits, -1, -1) if _layout(facts.n_rows, bits, g_bound, h_bound))
        raise ScenarioError(
            f"federation.fraction_bits must be at most {next(fits, 0)} for sums of gradients over {facts.n_rows} rows "
            f"to fit a machine word; got {settings.fraction_bits}"
        )
    needed = found.g_bits + found.h_bits + MARGIN_BITS
    if needed > settings.key_bits:
        raise ScenarioError(
            f"federation.key_bits must be at least {needed} for sums over {facts.n_rows} rows; got {settings.key_bits}"
        )


def _layout(n_rows: int, fraction_bits: int, g_bound: float, h_bound: float) -> Layout | None:
    try:
        return layout_for(n_rows, fraction_bits, g_bound, h_bound, packed=True)
    except PlaintextRangeError:
        return None
