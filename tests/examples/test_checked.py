"""What ``fedleak check`` must say of every example, with the theorem that says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fedleak.cli.check import MOST_LINES, NARROW
from fedleak.cli.main import app
from fedleak.protocols import PROTOCOLS

EXAMPLES = Path(__file__).parents[2] / "examples"
CERTAIN, PART, NO_THEOREM = "leaks for certain", "leaks in part", "no theorem of ours tells"
INDENT = " " * 10  # more than what goes on below a defense or a change has
Line = tuple[str, str, str]  # who, about what, how the answer begins

VERDICTS: dict[str, tuple[Line, ...]] = {
    # Batches of 16 rows, and 20 >= 16 columns: corollary 3.2. 160 / 16 = 10 rounds are below
    # T = ceil(ln 2 / ln(1 + 0.09 / 4)) = 32 from zero weights and rows of norm 1: theorem 4.6.
    "small_batch_labels": (("fintech", "the model's errors", CERTAIN), ("fintech", "labels of bank", CERTAIN)),
    "defended": (("fintech", "labels of bank", CERTAIN),),  # the same rounds, rate and columns
    # Corollary 3.2 asks for 16 columns: each shop has 8, both have 16.
    "colluding_shops": (
        ("grocer + pharmacy", "the model's errors", CERTAIN),
        ("grocer", "the model's errors", NO_THEOREM),
    ),
    # 5 columns carry hundreds of slots, more than a batch of 64 (section 5.2); 3 rounds an epoch are below T = 32.
    "dishonest_insurer": (("insurer", "the model's errors", CERTAIN), ("insurer", "labels of clinic", CERTAIN)),
    # 3 < 80 columns: no corollary 3.2. Labels by Phi(sqrt(3 / 77)) = 0.58 over 0.5 without any signal.
    "wide_batches_few_columns": (
        ("telephone", "labels of bank", PART),
        ("telephone", "the model's errors", NO_THEOREM),
    ),
    # Section 6: no party sees a gradient, which all of these attacks need.
    "secret_shared_training": (
        ("fintech", "the model's errors", "not tried"),
        ("fintech", "labels of bank", "not tried"),
    ),
    # Li et al. 2021, 4.1: key and ciphertexts. The ministry has the key alone; with the bank both, in 100 rounds of
    # batches dealt anew for 6 columns.
    "arbiter_alone": (
        ("bank + ministry", "columns of lender", CERTAIN),
        ("ministry", "labels of bank", "not tried"),
        ("ministry", "columns of bank", "not tried"),
        ("ministry", "columns of lender", "not tried"),
    ),
    # One batch that recurs: equations enough, but later rounds differ by ever fewer digits.
    "arbiter_collusion": (("bank + referee", "columns of clinic", "leaks if: fixed point leaves enough digits"),),
    "validated_scores": (("bank", "sums of columns of lender", PART),),  # of the last round of each epoch, not of all
    "house_price_service": (("bank", "model weights of registry", CERTAIN),),  # 4 columns and an intercept: 5 queries
    # Section 4.2 of Li et al. 2021: columns, rank and known cells show in the data only.
    "averaged_models": (("hospital", "columns of clinic", "leaks if (and 2 more): there are enough rounds"),),
    # Section 3.2 of Li et al. 2019 for batches that recur: the clinic's do, the hospital's do not. How many columns
    # there are, and whether models differ enough, is in the data.
    "hospital_and_clinic": (
        ("hospital", "joint counts of entries of", "leaks if (and 1 more): rounds"),
        ("hub", "joint counts of entries of", NO_THEOREM),
    ),
    "three_hospitals": (  # the same, for the pool of two and for the one that is left
        ("north", "joint counts of entries of", "leaks if (and 1 more)"),
        ("north + south", "joint counts of entries of west", "leaks if (and 1 more)"),
    ),
    "predictions": (("bank", "columns of partner", CERTAIN),),  # 2 <= 3 - 1: Luo et al. 2021, section IV-A
    "credit_score_two_classes": (("bank", "columns of partner", PART),),  # 15 > 2 - 1: one equation a row
    "served_tree": (  # IV-B bounds columns on candidate paths; a tree has no equations
        ("wholesaler", "limits of values of supplier", PART),
        ("wholesaler", "columns of supplier", "not tried"),
    ),
    "explained_scores": (("bank", "columns of partner", PART),),  # w x is x up to w
    # Hops to any number of records: section 5.2 of Li et al. 2021. Rows apart in g or h are told apart, no others.
    "boosted_training": (
        ("bank", "cut points of columns of partner", CERTAIN),
        ("bank", "bands around values of partner", PART),
        ("bank", "limits of values of partner", PART),
        ("partner", "labels of bank", PART),
    ),
    "boosted_scores_only": (
        ("bank", "cut points of columns of partner", CERTAIN),
    ),  # without a defense: hops, no budget
    # A first gradient is p - y with 0 < p < 1: its sign is the label. Offered splits are in plaintext; a row that
    # passes one is bounded on one side.
    "plain_boosting": (
        ("garage", "labels of insurer", CERTAIN),
        ("insurer", "cut points of columns of garage", CERTAIN),
        ("insurer", "limits of values of garage", PART),
    ),
    "split_network": (("publisher", "labels of advertiser", NO_THEOREM),),  # directions: a law for linear tops only
    # 48 batches are enough for 48 rows; there are 12, and the parameters move.
    "two_cameras": (("hub", "images of west", NO_THEOREM), ("hub", "images of east", NO_THEOREM)),
    # 1,000 numbers are fewer than 20,000 guesses, and no set is refused; the clinic hears of its own people alone.
    "shared_customers": (("bank", "list of people of clinic", CERTAIN), ("clinic", "list of people of bank", PART)),
    # One row a batch, smooth layers: one row times one vector, where that vector is not zero.
    "phones_and_server": (("server", "columns of telephones", "leaks if: the equations' Jacobian has full rank"),),
}
# Under a defense: noise, a limit or other gradients void the theorem; a label gives no equation; no model, no attack.
DEFENDED = {
    "defended": (
        "With larger-batch(batch_size=64): 1 leaks for certain.",  # by packing: 64 below 20 columns' slots, 3 rounds
        "With gaussian-noise(sigma=50.0): 1 no theorem of ours tells: audit it.",
    ),
    "wide_batches_few_columns": ("With gaussian-noise(sigma=20.0): 2 no theorem of ours tells: audit it.",),
    "hospital_and_clinic": ("With fresh-batches: 2 no theorem of ours tells: audit it.",),
    "predictions": ("With top-label: 1 ruled out for the attacks that we have.",),
    "credit_score_two_classes": (
        "With top-label: 1 ruled out for the attacks that we have.",
        "With hidden-model: 1 not tried.",
    ),
    "served_tree": ("With hidden-model: 2 not tried.",),
    "boosted_scores_only": (
        "With score-only: 1 no theorem of ours tells: audit it.",
        "With service-budget(records=20): 1 no theorem of ours tells: audit it.",
    ),
    "split_network": ("With marvell: 1 no theorem of ours tells: audit it.",),
    "two_cameras": ("With layer-gradient-noise(share=0.5): 2 no theorem of ours tells: audit it.",),
    "phones_and_server": ("With dp-sgd: 1 no theorem of ours tells: audit it.",),
}


def screen(name: str) -> list[str]:
    done = CliRunner().invoke(app, ["check", str(EXAMPLES / f"{name}.toml")], env={"COLUMNS": str(NARROW)})
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_every_example_has_its_verdict_here_and_every_protocol_an_example() -> None:
    paths = list(EXAMPLES.glob("*.toml"))
    assert VERDICTS.keys() == {path.stem for path in paths}
    assert len(paths) >= 20
    texts = "".join(path.read_text(encoding="utf-8") for path in paths)
    lacking = {protocol.name for protocol in PROTOCOLS if f'protocol = "{protocol.name}"' not in texts}
    assert lacking == {"captured"}, "a run that took place elsewhere has no scenario: captured_training.py makes one"


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_check_says_what_the_theorem_says_on_one_screen(name: str) -> None:
    lines = screen(name)
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= NARROW
    shown: list[str] = []
    for line in lines:
        if line.startswith(INDENT):  # a reason that goes on
            shown[-1] += f" {line.strip()}"
        elif not line.startswith(("With ", "Change: ", "  ")):
            shown.append(" ".join(line.split()))
    assert len(shown) == len(VERDICTS[name]), "one line an adversary and secret"
    for who, about, answer in VERDICTS[name]:
        mine = [line for line in shown if line.startswith(f"{who} {about}")]
        assert [line for line in mine if f" {answer}" in line] == mine, (who, about, mine)
        assert len(mine) == 1
    for line in DEFENDED.get(name, ()):
        assert line in lines


def test_the_json_has_the_reasons_that_a_line_cuts() -> None:
    done = CliRunner().invoke(app, ["check", str(EXAMPLES / "hospital_and_clinic.toml"), "--json", "-"])
    reasons = json.loads(done.output)["attacks"][0]["reasons"]
    assert any(reason.startswith("rounds are d + 1 or more for each batch: unknown") for reason in reasons)
