"""The pytest plug-in: ``pytest --fedleak-attack package.module:Attack`` runs the contract tests on an attack.

It is loaded by every run of pytest where fedleak is installed: without the option it adds that option and does nothing
else, and nothing of fedleak is imported for it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

OPTION = "--fedleak-attack"
SUITE = Path(__file__).with_name("contract_suite.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fedleak", "contract tests of attacks")
    group.addoption(
        OPTION,
        action="append",
        default=[],
        metavar="PACKAGE.MODULE:ATTACK",
        help="run fedleak's contract tests on this attack; alone, unless paths are given too (may be repeated)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption(OPTION):
        return
    _check_named(config.getoption(OPTION))
    given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    config.args = [*(path for path in given if path != str(SUITE)), str(SUITE)]  # a worker is given it already


def _check_named(paths: list[str]) -> None:
    """A wrong name is one line, before anything is collected."""
    from fedleak.core.errors import InputError
    from fedleak.testing.named_attack import attack_named

    try:
        for path in paths:
            attack_named(path)
    except InputError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "attack_path" in metafunc.fixturenames and metafunc.module.__name__ == "fedleak.testing.contract_suite":
        metafunc.parametrize("attack_path", metafunc.config.getoption(OPTION), scope="session")
