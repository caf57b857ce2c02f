"""A folder appears whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from fedleak.core.errors import FileFormatError, InputError, RunError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Scalar, Tree
from fedleak.core.transcript import Message, Record, Transcript
from fedleak.core.whole.run import Captured
from fedleak.storage.capture_and_truth import DiskSink, load_capture, save_capture

FACTS = Facts("p", ())


def _message(number: int = 0) -> Message:
    return Message("step", number, "active", "passive", Array(np.full(3, number)))


def _captured(*numbers: int) -> Captured:
    return Captured(Transcript(FACTS, [_message(number) for number in numbers]), {})


def _rounds(path: Path) -> list[int]:
    return [message.round for message in load_capture(path).transcript.messages]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error), DiskSink(tmp_path / "run") as sink:  # noqa: PT012
        sink.message(_message())
        sink.record("active", Record("step", 0, "x", Scalar(1)))
        assert not (tmp_path / "run").exists()
        assert len(list(tmp_path.iterdir())) == 1  # the temporary folder
        raise error
    assert list(tmp_path.iterdir()) == []


def test_the_folder_appears_at_the_end(tmp_path: Path) -> None:
    with DiskSink(tmp_path / "run") as sink:
        sink.message(_message(7))
        captured = sink.finish(FACTS)
        assert captured.transcript.messages[0].round == 7
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert _rounds(tmp_path / "run") == [7]


def test_a_capture_is_its_owners_alone(tmp_path: Path) -> None:
    save_capture(_captured(), tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0


def test_a_finished_or_abandoned_sink_is_closed(tmp_path: Path) -> None:
    with DiskSink(tmp_path / "finished") as sink:
        sink.finish(FACTS)
        for use in (lambda: sink.message(_message()), lambda: sink.finish(FACTS)):
            with pytest.raises(RunError, match="must still be open"):
                use()
    with pytest.raises(RunError, match="must still be open"):
        sink.message(_message())
    assert _rounds(tmp_path / "finished") == []


def test_a_refused_message_does_not_end_the_run(tmp_path: Path) -> None:
    """The caller may catch the error: what came before and after is kept, the refused one is not."""
    bad = Tree({"good": Array(np.ones(100)), "bad": Array(np.ones(2, dtype=np.longdouble))})
    with DiskSink(tmp_path / "run") as sink:
        sink.message(_message(1))
        with pytest.raises(FileFormatError, match="bad"):
            sink.message(Message("step", 2, "active", "passive", bad))
        sink.message(_message(3))
        messages = sink.finish(FACTS).transcript.messages
    assert [message.round for message in messages] == [1, 3]
    np.testing.assert_array_equal(messages[1].payload.values, [3, 3, 3])


def test_a_header_that_cannot_be_stored_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"header\.json cannot be stored: facts\.protocol"):
        save_capture(Captured(Transcript(Facts("x" * 5000, ()), ()), {}), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A limit on file size stands for the full disk; it needs a process of its own."""
    script = """
        import resource, signal, sys, numpy as np
        from fedleak.core.errors import RunError
        from fedleak.core.facts import Facts
        from fedleak.core.transcript import Message
        from fedleak.core.payload import Array
        from fedleak.storage.capture_and_truth import DiskSink
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with DiskSink(sys.argv[1]) as sink:
            try:
                for _ in range(100):
                    sink.message(Message("step", 0, "a", "b", Array(np.zeros(1000))))
            except RunError as error:
                print(error)
                try:
                    sink.message(Message("step", 0, "a", "b", Array(np.zeros(1))))
                except RunError as error:
                    print(error)
    """
    done = _python(script, tmp_path / "run")
    first, second = done.stdout.splitlines()
    assert "run could not be written: File too large" in first
    assert "must still be open" in second
    assert list(tmp_path.iterdir()) == []


def test_interrupted_without_a_with_block(tmp_path: Path) -> None:
    script = """
        import os, signal, sys
        from fedleak.core.transcript import Message
        from fedleak.core.payload import Scalar
        from fedleak.storage.capture_and_truth import DiskSink
        sink = DiskSink(sys.argv[1])
        sink.message(Message("step", 0, "a", "b", Scalar(1)))
        if os.fork() == 0:
            del sink  # a child's copy must not remove the parent's folder
            os._exit(0)
        os.wait()
        print(len(os.listdir(os.path.dirname(sys.argv[1]))), flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    """
    done = _python(script, tmp_path / "run")
    assert done.stdout == "1\n"
    assert done.returncode == -signal.SIGINT
    assert list(tmp_path.iterdir()) == []


def _python(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_an_existing_folder_is_kept(tmp_path: Path) -> None:
    save_capture(_captured(1), tmp_path / "run")
    with pytest.raises(InputError, match=r"run must not exist yet; .* overwrite=True"):
        save_capture(_captured(2), tmp_path / "run")
    assert _rounds(tmp_path / "run") == [1]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_appears_during_the_run_is_kept(tmp_path: Path) -> None:
    with DiskSink(tmp_path / "run") as sink:
        save_capture(_captured(1), tmp_path / "run")
        with pytest.raises(InputError, match="must not exist yet"):
            sink.finish(FACTS)
    assert _rounds(tmp_path / "run") == [1]
    assert len(list(tmp_path.iterdir())) == 1


def test_overwriting(tmp_path: Path) -> None:
    save_capture(_captured(1), tmp_path / "run")
    old = load_capture(tmp_path / "run").transcript.messages
    save_capture(_captured(2, 3), tmp_path / "run", overwrite=True)
    assert _rounds(tmp_path / "run") == [2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    np.testing.assert_array_equal(old[0].payload.values, [1, 1, 1])  # who had it open still has it


def test_a_folder_can_be_rewritten_from_itself(tmp_path: Path) -> None:
    save_capture(_captured(1, 2), tmp_path / "run")
    save_capture(load_capture(tmp_path / "run"), tmp_path / "run", overwrite=True)
    assert _rounds(tmp_path / "run") == [1, 2]


def test_a_failed_overwrite_keeps_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_capture(_captured(1), tmp_path / "run")
    rename = Path.rename

    def fails_for_the_new(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_the_new)
    with pytest.raises(RunError, match="could not be written: Input/output error"):
        save_capture(_captured(2), tmp_path / "run", overwrite=True)
    assert _rounds(tmp_path / "run") == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("what", ["file", "other folder", "link", "segments with more"])
def test_what_fedleak_did_not_write_is_never_overwritten(what: str, tmp_path: Path) -> None:
    path, precious = tmp_path / "run", tmp_path / "run"
    if what == "file":
        precious.write_text("precious")
    elif what == "other folder":
        path.mkdir()
        precious = path / "thesis.tex"
        precious.write_text("precious")
    elif what == "link":
        save_capture(_captured(1), tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        save_capture(_captured(1), path)
        precious = path / "segments" / "weights.npy"
        precious.write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="must be a folder that fedleak wrote"):
        save_capture(_captured(2), path, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before
    assert what == "link" or precious.read_text() == "precious"


def test_the_parent_folder_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere must be a folder to write run in"):
        DiskSink(tmp_path / "nowhere" / "run")


def test_the_working_directory_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with DiskSink("run") as sink:
        sink.message(_message(4))
        monkeypatch.chdir("/")
        captured = sink.finish(FACTS)
    assert captured.transcript.messages[0].round == 4
    assert _rounds(tmp_path / "run") == [4]
