"""What ``fedleak inspect --truth`` adds: how well each message alone predicts somebody's labels or columns."""

from __future__ import annotations

from pathlib import Path

from fedleak.auditing.halved_rows import Measured
from fedleak.auditing.plaintext_scan import Line, plaintext_scan
from fedleak.cli.output import say
from fedleak.core.visible_text import visible_name
from fedleak.core.whole.run import Captured
from fedleak.protocols.captured.capture_checks import check_capture
from fedleak.protocols.captured.truth_file import read_truth

HOW = (
    "How well one message alone ranks the rows of a column, beside the receiver's own columns (blind): chosen on one "
    "half of the rows, scored on the other. p: of luck, over all lines."
)
SMALLEST = 1e-15  # below, the tail of the approximation says nothing


def scanned(folder: Path, captured: Captured, truth: Path) -> list[Line]:
    check_capture(captured, folder)
    return plaintext_scan(captured, read_truth(truth, captured))


def line_json(line: Line) -> dict[str, object]:
    route = {"step": line.step, "sender": line.sender, "receiver": line.receiver, "messages": line.messages}
    found = line.measured
    told = {"encrypted": line.encrypted, "secret": line.secret or None, "column": line.column or None}
    if found is None:
        return {**route, **told, "measure": None, "tells": False}
    return {
        **route,
        **told,
        "reading": found.reading,
        "visit": found.visit,
        "rows": found.rows,
        "measure": found.measure,
        "value": found.value,
        "baseline": found.baseline,
        "p_value": found.p_value,
        "p_corrected": line.p_corrected,
        "tells": line.tells,
    }


def show_scan(lines: list[Line]) -> None:
    say("")
    say(f"plaintext-scan. {HOW}")
    for line in lines:
        if line.measured is not None:
            say(visible_name(f"{'tells' if line.tells else 'no   '}  {_words(line, line.measured)}"))
    silent = sorted({line.step for line in lines if line.measured is None})
    if silent:
        say(f"not by row, so not compared: {visible_name(', '.join(silent))}")


def _words(line: Line, found: Measured) -> str:
    """``tells`` or not is what the line begins with."""
    figures = f"{found.measure} {found.value:.3f}, blind {found.baseline:.3f}, {_chance(line.p_corrected)}"
    read = f"{found.reading} of visit {found.visit + 1}, {found.rows} rows"
    sent = f"{line.step} from {line.sender} to {line.receiver}{' (ciphertexts)' if line.encrypted else ''}"
    return f"{sent}: {line.secret}, {line.column}: {figures} ({read})"


def _chance(p_value: float) -> str:
    return f"p {p_value:.1g}" if p_value >= SMALLEST else f"p < {SMALLEST:g}"
