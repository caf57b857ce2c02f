"""Mutants are single edits of code, not of words; what they say of the tests is counted right."""

from __future__ import annotations

import ast
import json
import tomllib

import pytest

import mutation
from mutant_edits import mutant, n_mutants

SOURCE = '''
"""Words 1 + 1."""
LIMIT: int = 3


def answer(key: int | None, rows: list[int]) -> bool:
    """More words: 2 > 1."""
    if key is None or not rows:
        raise ValueError(f"rows must be {1 + 1}; got {len(rows)}")
    for row in range(key):
        rows.append(hidden(row))
    assert key > 0
    share = 2 * key + 0.5
    return share >= LIMIT
'''


def changes(source: str = SOURCE) -> set[str]:
    return {mutant("m", source, number).change for number in range(n_mutants(source))}


def test_every_kind_of_edit_is_made_and_words_are_left_alone():
    assert changes() == {
        "LIMIT: int = 3 -> LIMIT: int = 4",
        "key is None or not rows -> key is None and (not rows)",
        "key is None or not rows -> key is not None or not rows",
        "key is None or not rows -> not (key is None or not rows)",
        "range(key) -> key",
        "rows.append(hidden(row)) -> None",
        "rows.append(hidden(row)) -> rows.append(row)",
        "rows.append(hidden(row)) -> hidden(row)",
        "share = 2 * key + 0.5 -> share = 2 * key - 0.5",
        "share = 2 * key + 0.5 -> share = 2 / key + 0.5",
        "share = 2 * key + 0.5 -> share = 3 * key + 0.5",
        "share = 2 * key + 0.5 -> share = 2 * key + 1.0",
        "return share >= LIMIT -> return not share >= LIMIT",
        "return share >= LIMIT -> return share > LIMIT",
        "return share >= LIMIT -> return share < LIMIT",
    }


def test_every_mutant_of_every_module_is_a_program_and_another_one():
    table = tomllib.loads(mutation.MAP.read_text(encoding="utf-8"))
    table.pop("equivalent", None)
    choice = mutation.drawn(mutation.targets(table), seed=3, number=150)
    assert len({target.package for target, _ in choice}) == 5
    for target, edit in choice:
        plain = ast.unparse(ast.parse(target.path.read_text(encoding="utf-8")))
        assert edit.source != plain, edit.change
        compile(edit.source, edit.module, "exec")


def test_one_seed_gives_one_sample_and_none_comes_twice():
    table = {"severity": {"modules": ["trial/decide.py"], "tests": {"all": ["tests/trial/test_decide.py"]}}}
    choice = mutation.targets(table)
    first, again, other = (mutation.drawn(choice, seed, 40) for seed in (1, 1, 2))
    assert first == again != other
    everything = mutation.drawn(choice, 1, 10**6)
    assert len(everything) == n_mutants(choice[0].path.read_text(encoding="utf-8"))


def row(package: str, outcome: str, change: str = "a -> b") -> dict[str, object]:
    return {"package": package, "module": f"{package}.m", "change": change, "outcome": outcome}


def test_only_a_survivor_can_be_equivalent_and_it_counts_neither_way():
    rows = [row("crypto", "failed"), row("crypto", "endless"), row("theory", "survived"), row("theory", "failed")]
    known = [{"module": "theory.m", "change": "a -> b", "why": "both are 0"}]
    found = mutation.with_equivalents(rows, known)
    assert [one["outcome"] for one in found] == ["failed", "endless", "equivalent", "failed"]
    assert found[2]["why"] == "both are 0"
    assert mutation.summary(rows)["all"]["share"] == 0.75
    assert mutation.summary(found)["all"] == {
        "mutants": 4, "noticed": 3, "survived": 0, "equivalent": 1, "share": 1.0,
    }  # fmt: skip
    assert mutation.summary(found)["theory"]["share"] == 1.0
    assert mutation.summary([])["all"]["share"] is None


def test_what_was_tried_is_known_by_its_place_and_only_survivors_are_tried_again():
    rows = [
        {**row("crypto", outcome), "line": line} for line, outcome in enumerate(("failed", "survived", "equivalent"))
    ]
    assert [key[1] for key in mutation.by_edit(rows)] == [0, 1, 2]
    assert mutation.by_edit(rows)["crypto.m", 2, "a -> b"]["outcome"] == "survived"
    assert [key[1] for key in mutation.noticed_in(rows)] == [0]


def test_the_committed_score_is_enough():
    found = json.loads(mutation.RESULT.read_text(encoding="utf-8"))
    assert found["summary"] == mutation.summary(found["mutants"])
    assert (found["seed"], found["summary"]["all"]["mutants"]) == (mutation.SEED, mutation.NUMBER)
    assert found["summary"]["all"]["share"] >= mutation.LEAST
    assert all(one["why"] for one in found["mutants"] if one["outcome"] == "equivalent")
    assert {one["outcome"] for one in found[mutation.NAMED]} <= {"failed", "endless"}
    assert len(found[mutation.NAMED]) == len(tomllib.loads(mutation.LIST.read_text(encoding="utf-8"))["mutant"])


def test_named_mistakes_stand_for_one_place_each():
    listed = mutation.named(tomllib.loads(mutation.LIST.read_text(encoding="utf-8"))["mutant"])
    assert len(listed) >= 10
    for target, edit in listed:
        assert all((mutation.ROOT / test).exists() for test in target.tests)
        assert edit.source != target.path.read_text(encoding="utf-8")
        compile(edit.source, edit.module, "exec")


@pytest.mark.parametrize("path", ["tests/crypto", "tests/theory"])
def test_the_map_names_tests_that_are_there(path):
    table = tomllib.loads(mutation.MAP.read_text(encoding="utf-8"))
    table.pop("equivalent", None)
    named = {test for entry in table.values() for tests in entry["tests"].values() for test in tests}
    assert any(test.startswith(path) for test in named)
    assert all((mutation.ROOT / test).exists() for test in named)
