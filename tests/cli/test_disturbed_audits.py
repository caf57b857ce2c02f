"""An audit that is ended, from outside or by the machine: what was found is kept, and nothing else is left."""

from __future__ import annotations

import signal
import stat
import time

import pytest

import faults
import injected_faults
from fedleak.core.errors import FileFormatError
from fedleak.door.reports import load_report


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> faults.Place:
    return faults.Place(tmp_path_factory.mktemp("disturbed"))


def test_an_audit_that_is_terminated_keeps_what_it_found_and_goes_on_with_the_same_result(place):
    process = place.begun("terminated")
    place.after_lines("terminated", 3)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 143
    assert said.splitlines()[-1].endswith("go on with: fedleak audit --resume terminated")
    assert not list(place.temporary.iterdir())  # no view of anybody's
    assert load_report(place.folder / "terminated").interrupted
    assert faults.lost(place, "terminated") == "nothing"


def test_a_killed_audit_is_read_from_its_journal_and_its_halves_go_with_the_next_one(place):
    process = place.begun("killed")
    place.after_lines("killed", 3)
    process.kill()
    process.communicate(timeout=120)
    folder = place.folder / "killed"
    assert not (folder / "report.json").exists()
    (folder / "transcripts" / ".no-defense.x.partial").mkdir()
    (folder / ".report.1.partial.json").touch()
    with (folder / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"line":"found","place":7,"fin')  # cut off in the middle
    assert load_report(folder).interrupted
    assert faults.readable(place, "killed").endswith("of 8 findings")
    assert faults.lost(place, "killed") == "nothing"
    assert faults.left(place, "killed") == "nothing"


def test_a_second_audit_of_one_folder_is_refused_in_one_line(place):
    code, said = injected_faults.beside_another(place, "shared")
    assert code == 2
    assert said.splitlines()[-1].startswith("fedleak: out must be a folder that no other audit writes to; got shared")
    assert faults.comparable(place.folder / "shared") == place.wanted


def test_a_page_without_room_is_a_failure_and_no_wrong_usage(place):
    code, said = injected_faults.without_room_for_the_page(place, "small")
    assert code == 3
    last = said.splitlines()[-1]
    assert last.startswith("fedleak: small/report.html could not be written: File too large.")
    assert last.endswith("go on with: fedleak audit --resume small")
    assert faults.readable(place, "small") == "8 of 8 findings"
    assert faults.lost(place, "small") == "nothing"
    assert faults.left(place, "small") == "nothing"


def test_a_report_is_never_beside_newer_transcripts(place):
    """The one of before goes when the next audit begins, and so do transcripts that it does not write anew."""
    folder = place.folder / "again"
    place.run("again")
    kept = folder / "transcripts" / "notes"
    kept.mkdir()
    (folder / "transcripts" / "no-defense").rename(folder / "transcripts" / "of-an-earlier-audit")
    process = place.begun("again")
    place.after_lines("again", 2)
    stale = [folder / "report.json", folder / "report.html", folder / "transcripts" / "of-an-earlier-audit"]
    while any(path.exists() for path in stale) and process.poll() is None:
        time.sleep(0.01)  # the journal of before may have been looked at
    begun = process.poll() is None
    process.kill()
    process.communicate(timeout=120)
    assert begun  # they went at its beginning, not at its end
    assert not any(path.exists() for path in stale)
    assert kept.is_dir()  # nothing of ours


def test_what_is_written_is_for_its_owner_alone(place):
    for name in ("report.json", "report.html", "journal.jsonl"):
        assert stat.S_IMODE((place.folder / "undisturbed" / name).stat().st_mode) == 0o600, name


@pytest.mark.parametrize("more", [["scenario.toml"], ["--out", "other"], ["--repeats", "3"]])
def test_resuming_asks_for_nothing_else(place, more):
    done = place.shell([*faults.FEDLEAK, "audit", "--resume", "undisturbed", *more])
    assert done.returncode == 2
    assert "--resume must stand with --json, --fail-on and --verbose alone" in done.stderr


def test_other_data_are_not_gone_on_with(place):
    scenario = place.folder / "scenario.toml"
    before = scenario.read_text()
    scenario.write_text(before.replace("max_rows = 100", "max_rows = 90"))
    try:
        done = place.shell([*faults.FEDLEAK, "audit", "--resume", "undisturbed"])
    finally:
        scenario.write_text(before)
    assert done.returncode == 2
    assert "--resume must find scenario and data as they were" in done.stderr
    assert faults.comparable(place.folder / "undisturbed") == place.wanted


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [],
        lambda lines: lines[1:],
        lambda lines: [lines[0], lines[0]],
        lambda lines: [lines[0], b"{}\n"],
        lambda lines: [lines[0], lines[1].replace(b'"place":0', b'"place":1e999')],
        lambda lines: [lines[0], b"[" * 100_000 + b"\n"],
        lambda lines: [b"\xff\n"],
    ],
)
def test_a_journal_from_a_stranger_is_one_clear_error(place, tmp_path, spoil):
    lines = (place.folder / "undisturbed" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(spoil(lines)))
    with pytest.raises(FileFormatError, match=r"journal\.jsonl"):
        load_report(tmp_path)


def test_a_journal_alone_gives_the_report(place, tmp_path):
    (tmp_path / "journal.jsonl").write_bytes((place.folder / "undisturbed" / "journal.jsonl").read_bytes())
    found, wanted = load_report(tmp_path), load_report(place.folder / "undisturbed")
    assert not found.interrupted
    assert repr(found) == repr(wanted)
    assert found.remedies == wanted.remedies
    assert [one.exhibit is None for one in found.findings] == [one.exhibit is None for one in wanted.findings]
    assert dict(found.scenario) == dict(wanted.scenario)
