"""The exceptions of fedleak, one tree, and the exit codes that commands end with.

    FedleakError
    ├── InputError            what the user gave is wrong (exit code 2)
    │   ├── ScenarioError     a scenario file or its values
    │   ├── DataError         a table, an image set, a partition
    │   ├── FileFormatError   a transcript, view or report that cannot be read
    │   ├── KeySizeError      a key that is too small to mean anything
    │   ├── UnknownNameError  no attack, defense, protocol ... of that name
    │   ├── UnreadableModelError  a model whose parameters we cannot read; it may still be asked
    │   └── MissingExtraError an optional package that is not installed
    ├── RunError              the run failed (exit code 3)
    │   ├── CryptoError       a cryptographic operation failed
    │   │   ├── DecryptionError
    │   │   └── PlaintextRangeError
    │   ├── ProtocolError     a party broke the protocol in a way that it detects
    │   └── TimeSpentError    an audit has come to the end of the time that it was given
    ├── OracleError           an oracle cannot answer
    │   ├── BudgetSpentError
    │   └── NotReplayableError
    └── MissingFromViewError  an attack asked for something that the view lacks

Messages have one shape: "X must be ...; got ...", and where there is a remedy, they name it. After an unknown name
stands the nearest known one, or a list that stays short even when a table has a thousand columns.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Collection
from difflib import get_close_matches
from enum import IntEnum


class ExitCode(IntEnum):
    DONE = 0
    FOUND = 1  # a finding at or over --fail-on
    WRONG_INPUT = 2  # or wrong usage
    FAILED = 3  # a run or an attack failed, or fedleak itself
    INCONCLUSIVE = 4  # with --fail-on: nothing failed, but what would have to be known is not
    HUNG_UP = 129  # SIGHUP, the terminal is gone; as shells number it
    INTERRUPTED = 130  # SIGINT, Ctrl-C
    UNHEARD = 141  # SIGPIPE, whoever read the output has gone
    TERMINATED = 143  # SIGTERM


class FedleakError(Exception):
    """Base of everything that fedleak raises on purpose."""

    exit_code = ExitCode.FAILED


class InputError(FedleakError):
    exit_code = ExitCode.WRONG_INPUT


class ScenarioError(InputError):
    pass


class DataError(InputError):
    pass


class FileFormatError(InputError):
    pass


class KeySizeError(InputError):
    pass


class UnknownNameError(InputError):
    pass


class UnreadableModelError(InputError):
    pass


class MissingExtraError(InputError):
    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        return cls(f"{purpose} needs the package {package}; install it with: pip install 'fedleak[{extra}]'")


class RunError(FedleakError):
    pass


class CryptoError(RunError):
    pass


class DecryptionError(CryptoError):
    pass


class PlaintextRangeError(CryptoError):
    pass


class ProtocolError(RunError):
    pass


class TimeSpentError(RunError):
    pass


class OracleError(FedleakError):
    pass


class BudgetSpentError(OracleError):
    pass


class NotReplayableError(OracleError):
    pass


class MissingFromViewError(FedleakError):
    pass


# An attack that raises one of these lacks something: it is skipped, and nothing has failed.
LACKING = (MissingExtraError, MissingFromViewError, NotReplayableError)


N_NAMES_SHOWN = 20


def nearest(wrong: str, known: Collection[str]) -> str:
    """The nearest known name, as a question; empty when nothing is near."""
    near = get_close_matches(wrong, sorted(known), n=1, cutoff=0.6)
    return f'. Did you mean "{near[0]}"?' if near else ""


def nearest_or_list(wrong: str, known: Collection[str]) -> str:
    """The nearest known name, or the first of the known names in their own order."""
    return nearest(wrong, known) or f". Known: {listed(tuple(known))}"


def listed(names: tuple[str, ...]) -> str:
    """Names in a row, cut short when there are many."""
    shown = ", ".join(f'"{name}"' for name in names[:N_NAMES_SHOWN])
    return shown if len(names) <= N_NAMES_SHOWN else f"{shown}, ... ({len(names)} in all)"


WANTS_TRACEBACK = "FEDLEAK_TRACEBACK"  # an environment variable: any text but the empty one


def in_one_line(error: BaseException) -> str:
    """TypeName: message."""
    return name_and_message(type(error).__name__, str(error))


def name_and_message(name: str, message: str) -> str:
    """The same of an error that is only told of, such as one from another process."""
    text = " ".join(message.split())
    return f"{name}: {text}" if text else name


def show_traceback(error: BaseException) -> None:
    """To standard error, where the environment asks for it; otherwise an exception is one line.

    One that was raised in another process brings its traceback along, as ``trace``.
    """
    if os.environ.get(WANTS_TRACEBACK):
        print(getattr(error, "trace", "") or "".join(traceback.format_exception(error)), file=sys.stderr)  # noqa: T201
