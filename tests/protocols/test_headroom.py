"""Room under a cipher, told from public sizes before any key is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedleak.auditing.planner import plan_audit, plan_check
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.errors import ScenarioError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.crypto.fixed_point import ENCODED_BITS, MARGIN_BITS
from fedleak.protocols.linear.linear_headroom import check_linear_headroom, product_bits
from scenarios import changed

PARTIES = (PartyFacts("bank", Role.ACTIVE, 2), PartyFacts("shop", Role.PASSIVE, 2))
NOISY = changed(("epochs = 4", "epochs = 4\nfraction_bits = 52"))
MANY_SUMS = changed(
    ('protocol = "vertical-logistic"', 'protocol = "secureboost"\nfraction_bits = 52'),
    ("batch_size = 8\nepochs = 4\nlearning_rate = 0.1\n", "goss = true\ngoss_other = 0.0001\n"),
    ('[[defense]]\nname = "gaussian-noise"\nsigma = 200.0\n', ""),
)


def facts(**known: object) -> Facts:
    return replace(Facts("vertical-logistic", PARTIES, 1000, 100, key_bits=1024, fraction_bits=40), **known)


@pytest.mark.parametrize("planned", [plan_check, plan_audit])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NOISY, r"scores must stay under 2\^10 at 52 fraction bits; got up to 1.2e\+03 by noise of standard deviation"),
        (MANY_SUMS, "federation.fraction_bits must be at most 4[0-9] for sums of gradients over 80 rows"),
    ],
)
def test_check_and_audit_refuse_before_anything_runs(planned, text, said):
    text = text.replace('by = "ratio"', 'by = "ratio"\ntrain_rows = 80') if planned is plan_check else text
    with pytest.raises(ScenarioError, match=said):
        planned(parse_scenario(text))


def test_the_remedy_that_is_named_works():
    plan_audit(parse_scenario(NOISY.replace("fraction_bits = 52", "fraction_bits = 51")))
    with pytest.raises(ScenarioError) as told:
        plan_audit(parse_scenario(MANY_SUMS))
    fits = str(told.value).split("at most ")[1].split(" ")[0]
    plan_audit(parse_scenario(MANY_SUMS.replace("fraction_bits = 52", f"fraction_bits = {fits}")))


def test_no_sum_of_products_may_reach_the_modulus():
    check_linear_headroom(facts())
    shortest = product_bits(100, 1) + MARGIN_BITS
    check_linear_headroom(facts(key_bits=shortest))
    with pytest.raises(ScenarioError, match=f"key_bits must be at least {shortest} .* got {shortest - 1}"):
        check_linear_headroom(facts(key_bits=shortest - 1))


def test_the_length_of_sums_is_that_of_the_worst_case():
    largest = (1 << ENCODED_BITS) - 1
    for rows in (1, 7, 4096):
        assert (3 * rows * largest**2).bit_length() < product_bits(rows, 1)
    assert product_bits(8, 2) > product_bits(8, 1) + 80, "shares that hide a value among partners are longer"


def test_rows_that_are_declared_too_long_are_told():
    with pytest.raises(ScenarioError, match="by the bounds on rows and first weights"):
        check_linear_headroom(facts(max_row_norm=2.0**22))
    check_linear_headroom(facts(max_row_norm=None, n_rows=None, batch_size=None, key_bits=None, fraction_bits=None))
