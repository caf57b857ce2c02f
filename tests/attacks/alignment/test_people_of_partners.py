"""Whom a partner has: never wrong, of all whom one names, and of nobody else."""

from __future__ import annotations

import numpy as np
import pytest

from federations import vertical
from fedleak.attacks.alignment.aligned_members import AlignedMembers, IdentifierEnumeration
from fedleak.attacks.alignment.digest_enumeration import DigestEnumeration
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Attack, Guess, Status, Verdict
from fedleak.core.whole.randomness import Randomness
from fedleak.deviations.named_strangers import ClaimedIdentifiers
from fedleak.protocols.alignment.entity_alignment import AlignmentSettings
from fedleak.trial.play import Played, play

TWO, THREE = {"bank": 3, "fintech": 4}, {"bank": 3, "fintech": 4, "shop": 2}


def played(parties: dict[str, int], *, seed: int = 0, deviating: str | None = None, **changes: object) -> Played:
    settings = AlignmentSettings(**{"identifiers": 300, **changes})
    federation = vertical(parties, settings, protocol="entity-alignment")
    deviation = ClaimedIdentifiers(identifiers=settings.identifiers) if deviating else None
    return play(federation, Randomness.published(seed), deviation=deviation, deviating=deviating)


def guessed(game: Played, attack: Attack | type[Attack], coalition: tuple[str, ...], owner: str) -> Guess:
    return game.attempt(attack, coalition, Secret(SecretKind.MEMBERS, owner), isolated=False, scores=False).guess


def truth(game: Played, owner: str) -> dict[int, float]:
    found = game.run.truth.of(Secret(SecretKind.MEMBERS, owner))
    return dict(zip(found.ids.tolist(), found.values[:, 0].tolist(), strict=True))


def said(guess: Guess) -> dict[int, float]:
    return dict(zip(guess.ids.tolist(), guess.values[:, 0].tolist(), strict=True))


def own(game: Played, party: str) -> set[int]:
    return {person for person, held in truth(game, party).items() if held}


def check_right(game: Played, guess: Guess) -> None:
    """A number that nobody has is nobody's; of people in the table the truth decides."""
    true = truth(game, guess.secret.owner)
    assert {person: true.get(person, 0.0) for person in said(guess)} == said(guess)


@pytest.mark.parametrize(("coalition", "owner"), [(("bank",), "fintech"), (("fintech",), "bank")])
def test_of_two_each_learns_of_all_its_own_people(coalition: tuple[str, ...], owner: str):
    game = played(TWO)
    guess = guessed(game, AlignedMembers, coalition, owner)
    check_right(game, guess)
    assert set(said(guess)) == own(game, coalition[0])
    assert guess.status is Status.PARTIAL
    assert bool(guess.certificate) == (coalition == ("bank",)), "who is told takes another's word"


def test_of_three_a_passive_party_learns_whom_all_have_and_two_learn_more():
    game = played(THREE)
    common = own(game, "bank") & own(game, "fintech") & own(game, "shop")
    for owner in ("bank", "fintech"):
        guess = guessed(game, AlignedMembers, ("shop",), owner)
        assert said(guess) == dict.fromkeys(common, 1.0)
    both = guessed(game, AlignedMembers, ("fintech", "shop"), "bank")
    check_right(game, both)
    assert set(said(both)) == own(game, "fintech") & own(game, "shop")
    pair = guessed(game, AlignedMembers, ("bank",), "shop")
    check_right(game, pair)
    assert set(said(pair)) == own(game, "bank")


@pytest.mark.parametrize(("party", "owner"), [("bank", "fintech"), ("fintech", "bank")])
def test_naming_everybody_takes_the_whole_list(party: str, owner: str):
    game = played(TWO, deviating=party)
    guess = guessed(game, IdentifierEnumeration, (party,), owner)
    check_right(game, guess)
    assert guess.status is Status.RECOVERED
    assert len(said(guess)) == 300
    assert own(game, owner) <= set(said(guess))


def test_digests_are_the_list_and_a_budget_is_its_share():
    game = played(TWO, matching="digests")
    whole, half = (
        guessed(game, attack, ("bank",), "fintech") for attack in (DigestEnumeration, DigestEnumeration(150))
    )
    for guess in (whole, half):
        check_right(game, guess)
    assert (whole.status, half.status) == (Status.RECOVERED, Status.PARTIAL)
    assert (len(said(whole)), len(said(half))) == (300, 150)


def test_nothing_said_is_ever_wrong():
    """60 alignments, seeds 0 to 59, of two parties and of three, honest and not."""
    answered = 0
    for seed in range(20):
        share = float(np.random.default_rng(seed).uniform(0.1, 1.0))
        for game, attack in (
            (played(THREE, seed=seed, held_share=share), AlignedMembers),
            (played(TWO, seed=20 + seed, held_share=share, deviating="fintech"), IdentifierEnumeration),
            (played(TWO, seed=40 + seed, held_share=share, matching="digests"), DigestEnumeration),
        ):
            coalition = ("bank",) if attack is not IdentifierEnumeration else ("fintech",)
            owner = "fintech" if coalition == ("bank",) else "bank"
            guess = guessed(game, attack, coalition, owner)
            check_right(game, guess)
            answered += len(guess.ids) > 0
    assert answered == 60


@pytest.mark.parametrize(
    ("changes", "coalition", "verdicts"),
    [
        ({}, ("bank",), (Verdict.PARTIAL, Verdict.EXACT, Verdict.IMPOSSIBLE)),
        ({"everybody_at": ("bank",)}, ("bank",), (Verdict.EXACT, Verdict.EXACT, Verdict.IMPOSSIBLE)),
        ({"most_identifiers": 100}, ("bank",), (Verdict.PARTIAL, Verdict.PARTIAL, Verdict.IMPOSSIBLE)),
        ({"identifiers": 10**8}, ("bank",), (Verdict.PARTIAL, Verdict.PARTIAL, Verdict.IMPOSSIBLE)),
        ({"output": "size"}, ("bank",), (Verdict.IMPOSSIBLE,) * 3),
        ({"told": "active"}, ("fintech",), (Verdict.IMPOSSIBLE,) * 3),
        ({"matching": "digests"}, ("bank",), (Verdict.PARTIAL, Verdict.EXACT, Verdict.EXACT)),
        ({"matching": "digests", "identifiers": 10**8}, ("bank",), (Verdict.PARTIAL, Verdict.PARTIAL, Verdict.PARTIAL)),
    ],
)
def test_what_theory_expects(changes: dict[str, object], coalition: tuple[str, ...], verdicts: tuple[Verdict, ...]):
    facts = played(TWO, **changes).seen_by(coalition, None)
    attacks = (AlignedMembers, IdentifierEnumeration, DigestEnumeration)
    assert tuple(attack.predict(facts).verdict for attack in attacks) == verdicts


@pytest.mark.parametrize(("everybody_at", "verdict"), [(("fintech",), Verdict.EXACT), ((), Verdict.PARTIAL)])
def test_a_passive_party_that_has_all_people_needs_nobody_else_to_have_them(everybody_at, verdict):
    facts = played(TWO, told="everybody", everybody_at=everybody_at).seen_by(("fintech",), None)
    assert AlignedMembers.predict(facts).verdict is verdict
