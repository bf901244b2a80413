"""What is checked before a run, and whole files only after it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from opperf.errors import OutputError, UsageError
from opperf.folders import part_folder
from opperf.model import Header, Run
from opperf.reports.formats import RUN, formats_of
from opperf.reports.writing import write, write_folder
from opperf.results import output
from opperf.results.lines import LineFile, encode_lines
from opperf.results.opperf_json import results_by_operator
from opperf.results.output import reason, unwritable
from opperf.results.runfile import read_run


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_json_file_is_json_and_its_environment_lies_beside_it(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "out.json"
    write(run, path, "json")
    assert json.loads(path.read_text()) == results_by_operator(run.records)
    assert list(json.loads(path.read_text())) == ["abs", "relu"]
    beside = json.loads((tmp_path / "out.environment.json").read_text())
    assert beside["environment"]["versions"] == {"mxnet": "1.9.1", "numpy": "1.26.4"}
    assert beside["options"]["command"] == "run relu"
    assert beside["started"] == run.header.started
    assert beside["output"] == "out.json"
    assert beside["excluded"] == run.header.excluded
    assert [(r["operator"], r["status"]) for r in beside["not_measured"]] == [
        ("argmax", "skipped"),
        ("argmin", "skipped"),
        ("svd", "crashed"),
    ]
    assert names_in(tmp_path) == ["out.environment.json", "out.json"]


def test_check_finds_what_would_fail_after_the_run(tmp_path: Path) -> None:
    existing = tmp_path / "there.json"
    existing.touch()
    for path, message in (
        (existing, "exists; add --overwrite to replace it"),
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "out.json", "does not exist"),
        (existing / "out.json", "is not a folder"),
        (Path("/proc/out.json"), "cannot create a file in /proc"),
    ):
        with pytest.raises(OutputError, match=message) as caught:
            output.check_output(path, overwrite=False)
        assert "\n" not in str(caught.value)
    output.check_output(existing, overwrite=True)
    output.check_output(tmp_path / "new.json", overwrite=False)
    assert names_in(tmp_path) == ["there.json"]


def test_check_names_resume_for_a_run_file(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").touch()
    with pytest.raises(OutputError, match="--overwrite to replace it, or --resume"):
        output.check_output(tmp_path / "run.jsonl", overwrite=False)


def test_a_device_or_a_pipe_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="not a regular file"):
        output.check_output(Path("/dev/full"), overwrite=True)
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with pytest.raises(OutputError, match="link cannot be written: it is no regular file"):
        output.replace(link, b"")
    assert pipe.is_fifo()


def test_a_link_is_written_through(tmp_path: Path, run: Run) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "folder" / "real.md")
    output.check_output(link, overwrite=True)
    write(run, link, "md")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "real.md").read_text().startswith("# Operator benchmarks")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "out.md"
    path.write_text("old")
    # A full disk, as far as a file can tell: it may not grow past 100 bytes.
    code = (
        "import resource, sys, pathlib\n"
        "from opperf.results import runfile\n"
        "from opperf.reports.writing import write\n"
        "from opperf.errors import OutputError\n"
        "run, _ = runfile.read_run(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n    write(run, pathlib.Path(sys.argv[2]), 'md')\n"
        "except OutputError as error:\n    print(error)\n"
    )
    write(run, tmp_path / "run.jsonl", "jsonl")
    found = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "run.jsonl", path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == (
        f"{path} cannot be written: File too large; allow larger files (ulimit -f)\n"
    )
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["out.md", "run.jsonl"]


@pytest.mark.parametrize("format", ["json", "csv"])
def test_an_output_and_its_environment_are_written_both_or_neither(
    tmp_path: Path, run: Run, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"out.{format}"
    beside = output.sidecar(path)
    write(run, path, format)
    old = path.read_bytes(), beside.read_bytes()
    changed = msgspec.structs.replace(run.header, started="later")
    for fitting in (0, 1):
        left = [None] * fitting

        def sync(descriptor: int, left: list[None] = left) -> None:
            if not left:
                raise OSError(errno.ENOSPC, "No space left on device")
            left.pop()

        with monkeypatch.context() as patched, pytest.raises(OutputError, match="free space"):
            patched.setattr(os, "fsync", sync)
            write(msgspec.structs.replace(run, header=changed), path, format)
        assert (path.read_bytes(), beside.read_bytes()) == old
        assert names_in(tmp_path) == sorted([path.name, beside.name])


def test_permissions_are_those_of_any_new_file(tmp_path: Path, run: Run) -> None:
    (tmp_path / "plain").touch()
    write(run, tmp_path / "out.md", "md")
    assert (tmp_path / "out.md").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_unknown_format(tmp_path: Path, run: Run) -> None:
    with pytest.raises(UsageError, match="did you mean json"):
        write(run, tmp_path / "out", "jsn")


def test_formats_name_their_extensions() -> None:
    extensions = {name: format.extension for name, format in formats_of(RUN).items()}
    assert extensions == {
        "json": ".json",
        "md": ".md",
        "csv": ".csv",
        "html": ".html",
        "milabench": ".milabench",
        "jsonl": ".jsonl",
        "xla": ".jsonl",
        **dict.fromkeys(("param", "instruction-counts"), ".json"),
        **dict.fromkeys(("pytest-benchmark", "bencher", "github-action-benchmark"), ".json"),
        **dict.fromkeys(("hyperfine", "perfetto"), ".json"),
    }


def test_a_run_file_of_a_run_that_did_not_end(tmp_path: Path, run: Run) -> None:
    unfinished = msgspec.structs.replace(run, closing=None)
    write(unfinished, tmp_path / "run.jsonl", "jsonl")
    assert read_run(tmp_path / "run.jsonl") == (unfinished, [])


def test_what_lies_beside_an_output_is_for_a_reader(tmp_path: Path, run: Run) -> None:
    write(run, tmp_path / "some.results.csv", "csv")
    beside = tmp_path / "some.results.environment.json"
    assert beside.read_text().startswith('{\n    "output": "some.results.csv",\n    "started"')
    assert beside.read_text().endswith("}\n") and "not_measured" not in beside.read_text()


def test_a_link_to_nothing_is_a_file_to_be(tmp_path: Path, run: Run) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "real.md")
    with pytest.raises(OutputError, match="exists; add --overwrite to replace it$"):
        output.check_output(link, overwrite=False)
    output.check_output(link, overwrite=True)
    write(run, link, "md")
    assert link.is_symlink() and (tmp_path / "real.md").is_file()


def test_a_file_that_may_not_be_written_is_found_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    path.touch()
    # Of everyone but root.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(OutputError, match="write-protected"):
        output.check_output(path, overwrite=True)
    output.check_output(tmp_path / "other.json", overwrite=True)


def test_a_full_disk_is_found_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(dir: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(OutputError, match=f"a file in {tmp_path}: No space .*; free space there"):
        output.check_output(tmp_path / "out.json", overwrite=False)


def test_what_cannot_be_put_in_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    with pytest.raises(OutputError, match="folder cannot be written: "):
        output.replace(tmp_path / "folder", b"text")
    assert names_in(tmp_path) == ["folder"]
    output.replace(tmp_path / "file", b"text")
    assert (tmp_path / "file").read_bytes() == b"text"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left"), "No space left; free space there"),
        (OSError(errno.EFBIG, "Too large"), "Too large; allow larger files (ulimit -f)"),
        (OSError(errno.EACCES, "Permission denied"), "Permission denied"),
        (OSError("without a number"), "without a number"),
    ],
)
def test_what_is_wrong_and_what_helps(error, words):
    assert reason(error) == words
    assert str(unwritable(Path("a/file"), error)) == f"a/file cannot be written: {words}"


def killed_before(event: str, function: Callable[[], object]) -> None:
    """Calls a function in a process that is killed right before such a change of files."""
    child = os.fork()
    if not child:
        sys.addaudithook(lambda name, _: os.kill(os.getpid(), 9) if name == event else None)
        function()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the change is not made so any more"


@pytest.mark.parametrize("event", ["os.mkdir", "open", "os.rename"])
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path, event: str) -> None:
    path, folder, lines = (tmp_path / name for name in ("out.md", "out", "run.jsonl"))
    path.write_text("old")
    lines.write_text("old")
    header = encode_lines(Header(schema=1, started="now", options={}))
    changes = {
        path: lambda: output.replace(path, b"new"),
        folder: lambda: write_folder(folder, {"a/b": b"new"}),
        lines: lambda: LineFile.create(lines, header, overwrite=True).close(),
    }
    for change in changes.values():
        killed_before(event, change)
    assert path.read_text() == lines.read_text() == "old" and not folder.exists()
    for change in changes.values():
        change()
    assert path.read_text() == "new" and (folder / "a" / "b").read_text() == "new"
    assert lines.read_bytes().endswith(b"}\n")
    assert names_in(tmp_path) == ["out", "out.md", "run.jsonl"]


def test_resuming_removes_what_was_left_of_the_beginning(tmp_path: Path) -> None:
    lines = tmp_path / "run.jsonl"
    # The file has its name, and its first one too.
    killed_before("os.remove", lambda: LineFile.create(lines, b""))
    assert len(names_in(tmp_path)) == 2
    LineFile.open(lines).close()
    assert names_in(tmp_path) == ["run.jsonl"]


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    with part_folder(tmp_path) as theirs:
        output.replace(tmp_path / "out.md", b"new")
        assert theirs.is_dir()
    assert names_in(tmp_path) == ["out.md"]


def test_a_folder_that_was_taken_for_abandoned_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def flock(lock: int, kind: int) -> None:
        if not taken:
            (found,) = tmp_path.iterdir()
            taken.append(found.name)
            found.rmdir()

    monkeypatch.setattr(fcntl, "flock", flock)
    with part_folder(tmp_path) as made:
        assert made.is_dir() and made.name not in taken
