"""The exceptions of fedleak, one tree.

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
    │   └── ProtocolError     a party broke the protocol in a way that it detects
    ├── OracleError           an oracle cannot answer
    │   ├── BudgetSpentError
    │   └── NotReplayableError
    └── MissingFromViewError  an attack asked for something that the view lacks

Messages have one shape: "X must be ...; got ...", and where there is a remedy, they name it.
"""

from __future__ import annotations

from fedleak.core.exit_code import ExitCode


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


class OracleError(FedleakError):
    pass


class BudgetSpentError(OracleError):
    pass


class NotReplayableError(OracleError):
    pass


class MissingFromViewError(FedleakError):
    pass
