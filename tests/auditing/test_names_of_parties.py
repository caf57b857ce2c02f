"""A name is a name, whatever is in it: commas, pluses and colons are part of it everywhere."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import horizontal
from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.attacks.binary.observations import observations
from fedleak.auditing.planner import plan_audit, plan_check
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.adversary import JOINT, Secret, SecretKind, together
from fedleak.core.errors import InputError
from fedleak.core.finding import Outcome
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.defenses.changed_settings import FreshBatches
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.protocols.averaging.vocabulary import Dropout, HorizontalLogisticFacts
from fedleak.report import html, json_format
from fedleak.storage.capture_and_truth import DiskSink, load_capture
from fedleak.theory import THEOREMS
from fedleak.trial.play import play
from fedleak.trial.progress import Silent
from scenarios import KEY, changed

ODD = "north, south"
OF_ROWS = """
title = "rows"
seed = 1
[data]
source = "sklearn:breast_cancer"
max_rows = 60
[federation]
protocol = "horizontal-logistic"
rounds = 8
batch_size = 10
shuffled = ["north, south"]
dropouts = ["north, south:2", "west:3:4"]
recovery_threshold = 2
colluders = 0
[federation.partition]
by = "rows"
[[federation.parties]]
name = "north, south"
role = "active"
share = 0.4
[[federation.parties]]
name = "west:3"
role = "active"
share = 0.3
[[federation.parties]]
name = "a+b"
role = "active"
share = 0.3
[[federation.parties]]
name = "hub"
role = "server"
[[adversary]]
parties = ["a+b"]
[[defense]]
name = "fresh-batches"
parties = ["west:3"]
"""


def conditions(facts, theorem: str) -> str:
    return " ".join(THEOREMS.get(theorem).assess(facts).reasons)


def test_a_plan_without_data_knows_them_by_their_names():
    bare, defended = plan_check(parse_scenario(OF_ROWS))
    own = bare.tasks[0].facts.of(HorizontalLogisticFacts)
    assert own.shuffled == (ODD,)
    assert own.dropouts == (Dropout(ODD, 2), Dropout("west:3", 4))
    assert defended.tasks[0].facts.of(HorizontalLogisticFacts).shuffled == (ODD, "west:3")
    assert all(theorem.assess(task.facts).conditions for theorem in THEOREMS for task in defended.tasks[:1])
    assert "dealt anew by north, south)" in conditions(bare.tasks[0].facts, "li2019/section-3.2")
    assert defended.tasks[0].facts.defense == "fresh-batches(parties=('west:3',))"


def test_an_audit_goes_through_and_its_report_has_them(tmp_path):
    scenario = parse_scenario(OF_ROWS)
    work = Audit(scenario, plan_audit(scenario), lambda name: DiskSink(tmp_path / name), Silent(), run_key=KEY)
    work.run()
    report = work.report()
    assert Outcome.ERRORED not in {finding.outcome for finding in report.findings}
    again = json_format.loads(json_format.dumps(report))
    assert {finding.secret.owner for finding in again.findings} == {"north, south+west:3", ODD, "west:3"}
    assert ODD in html.render(report)
    stored = [load_capture(path).transcript.facts for path in tmp_path.iterdir()]
    assert sorted(facts.defense or "" for facts in stored) == ["", "fresh-batches(parties=('west:3',))"]
    assert all(
        facts.of(HorizontalLogisticFacts).dropouts == (Dropout(ODD, 2), Dropout("west:3", 4)) for facts in stored
    )


def test_a_vertical_audit_goes_through(tmp_path):
    text = changed(
        ('name = "fintech"', 'name = "north, south"'), ('parties = ["fintech"]', 'parties = ["north, south"]')
    )
    scenario = parse_scenario(text.replace("sigma = 200.0", 'sigma = 200.0\nparties = ["north, south"]'))
    work = Audit(scenario, plan_audit(scenario), lambda name: DiskSink(tmp_path / name), Silent(), run_key=KEY)
    work.run()
    findings = {(f.adversary, f.attack, f.defense): f for f in work.report().findings}
    assert findings[(ODD,), "residual-sign", None].outcome is Outcome.LEAK
    assert not {f.outcome for f in findings.values()} & {Outcome.ERRORED}
    label = "gaussian-noise(sigma=200.0, parties=('north, south',))"
    stored = {facts.defense: facts for facts in (load_capture(path).transcript.facts for path in tmp_path.iterdir())}
    assert stored[label].party(ODD).score_noise == 200.0
    assert stored[label].party("bank").score_noise == 0.0


def test_only_the_named_party_is_known_to_shuffle():
    tables = {name: horizontal.binary(12, 4, i) for i, name in enumerate(("lab", ODD, "north"))}
    settings = HorizontalLogisticSettings(rounds=6, batch_size=4)
    played = play(
        horizontal.federation(tables, settings), Randomness.published(1), defense=FreshBatches(parties=(ODD,))
    )
    view = played.view(("lab",), Secret(ColumnProducts.produces, together((ODD, "north"))))
    assert [outsider.shuffled for outsider in observations(view).outsiders] == [True, False]
    assert played.run.truth.of(view.target).values.any()


@given(st.lists(st.lists(st.text("a+\\", max_size=4), min_size=1, max_size=3), min_size=2, max_size=6))
def test_who_owns_something_together_is_unambiguous(groups):
    written = {together(group) for group in groups}
    assert len(written) == len({tuple(group) for group in groups})


def test_common_names_are_joined_as_ever():
    assert together(("clinic", "lab")) == "clinic+lab"
    assert all(
        together(p) != together(q) for p, q in product(permutations(("a+b", "c")), [("a", "b+c"), ("a", "b", "c")])
    )


def test_nobody_is_called_everybody():
    nobody = Party(JOINT, Role.ACTIVE, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0))))
    with pytest.raises(InputError, match=r'a party must not be called "\*"'):
        Federation("vertical-logistic", (nobody,), Settings())


def test_kinds_of_secret_that_are_pooled_name_all_their_owners():
    (planned, _) = plan_check(parse_scenario(OF_ROWS))
    pooled = {task.target for task in planned.tasks if task.target.kind is SecretKind.RECORDS}
    owners = (together((ODD, "west:3")), ODD, "west:3")  # of whose is whose each one's is asked for too
    assert pooled == {Secret(SecretKind.RECORDS, owner) for owner in owners}
