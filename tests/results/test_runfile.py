from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from opperf.errors import OutputError, RunFileError
from opperf.model import Closing, Fill, Header, Record, Run, Status, TensorSpec
from opperf.reports.writing import write
from opperf.results.lines import check_free
from opperf.results.runfile import RunWriter, read_run

MakeRecord = Callable[..., Record]


def written(path: Path, run: Run) -> Path:
    with RunWriter.create(path, run.header, run.cases) as writer:
        for environment in run.environments.values():
            writer.environment(environment)
        for record in run.records:
            writer.record(record)
        assert run.closing is not None
        writer.close_run(run.closing)
    return path


def test_round_trip(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "run.jsonl", run)
    assert read_run(path) == (run, [])
    lines = 2 + len(run.environments) + len(run.cases) + len(run.records)
    assert len(path.read_bytes().splitlines()) == lines


def test_written_by_the_format_is_the_same_file(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "run.jsonl", run)
    write(run, tmp_path / "other.jsonl", "jsonl")
    assert (tmp_path / "other.jsonl").read_bytes() == path.read_bytes()


def test_every_record_is_in_the_file_at_once(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, run.header, run.cases) as writer:
        for count, record in enumerate(run.records, 1):
            writer.record(record)
            assert len(read_run(path)[0].records) == count
    assert read_run(path)[0].closing is None


def test_numbers_that_are_not_finite_come_back_as_nan(
    tmp_path: Path, header: Header, make_record: MakeRecord
) -> None:
    nan, infinity = float("nan"), float("inf")
    plain = make_record("plain")
    odd = make_record("odd", lhs=TensorSpec((2,), fill=Fill("constant", low=infinity)))
    forward = msgspec.structs.replace(odd.summaries["forward"], mean=nan, max=infinity)
    odd = msgspec.structs.replace(
        odd, summaries={"forward": forward}, samples={"forward": [1.0, infinity, nan]}
    )
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, header, [odd.case, plain.case]) as writer:
        writer.record(odd)
        writer.record(plain)
    ((read, other),) = [read_run(path)[0].records]
    assert other == plain
    assert math.isnan(read.summaries["forward"].mean)
    assert math.isnan(read.summaries["forward"].max)
    assert read.summaries["forward"].median == forward.median
    assert read.samples["forward"][0] == 1.0
    assert all(math.isnan(sample) for sample in read.samples["forward"][1:])
    assert read.id == read.case.id == odd.id


def test_every_number_may_be_nan(tmp_path: Path, header: Header, make_record: MakeRecord) -> None:
    nan = float("nan")
    numbers = ("mean", "median", "min", "max", "p50", "p90", "p99", "mad", "ci_low", "ci_high")
    forward = make_record().summaries["forward"]
    odd = msgspec.structs.replace(forward, **dict.fromkeys(numbers, nan))
    fills = (
        TensorSpec((2,), fill=Fill("uniform", low=-1.0, high=nan)),
        TensorSpec((2,), fill=Fill("uniform", low=nan, high=1.0)),
    )
    path = tmp_path / "run.jsonl"
    record = make_record(summaries={"forward": odd, "backward": forward}, list=fills)
    with RunWriter.create(path, header, [record.case]) as writer:
        writer.record(record)
    (read,) = read_run(path)[0].records
    assert all(math.isnan(getattr(read.summaries["forward"], name)) for name in numbers)
    assert read.summaries["forward"].n == forward.n and read.summaries["backward"] == forward
    first, second = (element.fill for element in read.case.arguments["list"])
    assert first.low == -1.0 and math.isnan(first.high)
    assert math.isnan(second.low) and second.high == 1.0


def test_the_later_record_of_an_id_counts(
    tmp_path: Path, header: Header, make_record: MakeRecord
) -> None:
    failed = make_record("relu", Status.FAILED, reason="once")
    other, retried = make_record("abs"), make_record("relu")
    assert failed.id == retried.id
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, header, [failed.case, other.case]) as writer:
        for record in (failed, other, retried):
            writer.record(record)
    assert read_run(path)[0].records == (retried, other)


@pytest.mark.parametrize("closed", [True, False])
def test_cut_at_every_byte_of_the_last_line(
    tmp_path: Path, run: Run, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether it is on the disk is not the question, and takes most of the time.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    path = written(tmp_path / "run.jsonl", run)
    lines = path.read_bytes().splitlines(keepends=True)
    if not closed:
        lines.pop()
    before, last = b"".join(lines[:-1]), lines[-1]
    kept = run.records if closed else run.records[:-1]
    for cut in range(len(last)):
        # A new file: a disk may take its time over one that is emptied and filled again.
        path.unlink()
        path.write_bytes(before + last[:cut])
        read, warnings = read_run(path)
        assert read.records == kept
        assert read.closing is None
        assert len(warnings) == (1 if cut else 0)
        # The case that was cut is measured again, and the file is then as if nothing had been.
        with RunWriter.resume(path) as writer:
            assert len(writer.warnings) == (1 if cut else 0)
            assert path.read_bytes() == before
            writer.record(run.records[-1])
    assert read_run(path)[0].records == run.records


def test_cut_at_every_byte_of_the_header(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "run.jsonl", run)
    first = path.read_bytes().splitlines(keepends=True)[0]
    for cut in reversed(range(len(first))):
        os.truncate(path, cut)
        with pytest.raises(RunFileError, match=r"run\.jsonl:1: "):
            read_run(path)


def test_a_tail_of_zeros_is_cut_off(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "run.jsonl", run)
    whole = path.read_bytes()
    for tail in (b"\0" * 100, b"\0" * 100 + b"\n", b"\xff\xfe\n"):
        path.write_bytes(whole + tail)
        read, warnings = read_run(path)
        assert read == run
        assert warnings == [f"{path}: the last line was cut short and is ignored"]


def test_resume_removes_the_closing_line_and_goes_on(
    tmp_path: Path, run: Run, make_record: MakeRecord, closing: Closing
) -> None:
    path = written(tmp_path / "run.jsonl", run)
    more = msgspec.structs.replace(run.records[0], rounds=2)
    with RunWriter.resume(path) as writer:
        assert writer.warnings == []
        assert read_run(path)[0].closing is None
        writer.record(more)
        writer.close_run(closing)
    assert read_run(path)[0] == msgspec.structs.replace(run, records=(more, *run.records[1:]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1: not a run file: the file is empty"),
        (b"hello\n", "1: not an opperf run file; write one with opperf run -f jsonl"),
        (b'{"relu": []}\n', "1: not an opperf run file; write one with opperf run -f jsonl"),
        (
            b'{"line":"closing","schema":1}\n',
            "1: not a run file, which `opperf run -f jsonl` writes",
        ),
        (b'{"line":"header","schema":2}\n', "1: the header is damaged"),
        (
            b'{"line":"header","schema":2,"started":"","options":{"selection":3}}\n',
            "1: the header is damaged: Expected `object`, got `int`",
        ),
        (b'{"line":"header","schema":99}\n', "1: written in version 99"),
        (b"\xff\xfe\n", "1: not an opperf run file"),
    ],
)
def test_what_is_no_run_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    for attempt in (read_run, RunWriter.resume):
        with pytest.raises(RunFileError) as caught:
            attempt(path)
        assert str(caught.value).startswith(f"{path}:{message}")
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_bad_line_in_the_middle_is_an_error_with_its_line(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "run.jsonl", run)
    lines = path.read_bytes().splitlines(keepends=True)
    for bad, message in (
        (b"{\n", "3: not a line of a run file"),
        (b"\n", "3: not a line of a run file"),
        (b'{"line":"record"}\n', "3: not a line of a run file"),
        (b"\xff\n", "3: not a line of a run file"),
        (b"[1]\n", "3: not a line of a run file"),
        (b'{"record":1}\n', "3: not a line of a run file"),
        (b'{"line":"record","record":{"case":[],"samples":[1]}}\n', "3: not a line of a run file"),
        (
            b'{"line":"record","record":{"summaries":{"forward":1}}}\n',
            "3: not a line of a run file",
        ),
        (lines[0], "3: a second header; two runs"),
        # It is the line behind it that should not be there.
        (lines[-1], "4: after the closing line; two runs"),
    ):
        path.write_bytes(b"".join([*lines[:2], bad, *lines[2:]]))
        with pytest.raises(RunFileError, match=rf"run\.jsonl:{message}"):
            read_run(path)


def test_a_last_line_that_is_json_and_no_line_is_not_thrown_away(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "run.jsonl", run)
    lines = len(path.read_bytes().splitlines())
    path.write_bytes(path.read_bytes() + b'{"line":"note"}\n')
    with pytest.raises(RunFileError, match=f"run.jsonl:{lines + 1}: "):
        RunWriter.resume(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(RunFileError, match="cannot be read"):
            read_run(path)
        with pytest.raises(RunFileError, match="cannot be resumed"):
            RunWriter.resume(path)


def test_create_replaces_only_when_told(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "run.jsonl", run)
    with pytest.raises(OutputError, match="--overwrite"):
        RunWriter.create(path, run.header, run.cases)
    assert read_run(path)[0] == run
    with RunWriter.create(path, run.header, run.cases, overwrite=True):
        pass
    assert read_run(path)[0].records == ()


def test_a_second_process_is_refused(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "run.jsonl"
    second = (
        "import sys; from opperf.results.runfile import *; from opperf.errors import *\n"
        "try:\n    RunWriter.resume(sys.argv[1])\n"
        "except RunFileError as error:\n    print(error)\n"
    )
    with RunWriter.create(path, run.header, run.cases) as writer:
        writer.record(run.records[0])
        found = subprocess.run(
            [sys.executable, "-c", second, path], capture_output=True, text=True, check=True
        )
        assert found.stdout.startswith(f"{path} is being written by another opperf")
        with pytest.raises(RunFileError, match="another opperf"):
            RunWriter.create(path, run.header, run.cases, overwrite=True)
        with pytest.raises(RunFileError, match="another opperf"):
            check_free(path)
        # Nobody who is refused may have emptied the file.
        assert read_run(path)[0].records == run.records[:1]
    check_free(path)
    with RunWriter.resume(path):
        pass


def test_whether_a_file_is_free_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="cannot be read: No such file"):
        check_free(tmp_path / "none.jsonl")


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """As a disk that is full: files may not grow past `size` bytes, and the last write takes
    what still fits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_fails_leaves_whole_lines(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, run.header, run.cases) as writer:
        writer.record(run.records[0])
        size = path.stat().st_size
        fails = pytest.raises(OutputError, match="cannot be written: File too large")
        with file_size_limit(size + 50), fails as caught:
            writer.record(run.records[1])
        assert "\n" not in str(caught.value)
        assert path.stat().st_size == size
        writer.record(run.records[1])
    half = msgspec.structs.replace(run, records=run.records[:2], environments={}, closing=None)
    assert read_run(path) == (half, [])


@pytest.mark.parametrize("old", [None, "", "old\n"])
def test_a_header_that_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, run: Run, old: str | None
) -> None:
    path = tmp_path / "run.jsonl"
    if old is not None:
        path.write_text(old)
    with file_size_limit(10), pytest.raises(OutputError, match="cannot be written"):
        RunWriter.create(path, run.header, run.cases, overwrite=old is not None)
    assert (path.read_text() if path.exists() else None) == old


def test_a_link_is_not_removed_with_what_it_leads_to(tmp_path: Path, run: Run) -> None:
    path, link = tmp_path / "run.jsonl", tmp_path / "link.jsonl"
    path.touch()
    link.symlink_to(path)
    with file_size_limit(10), pytest.raises(OutputError, match="cannot be written"):
        RunWriter.create(link, run.header, overwrite=True)
    assert link.is_symlink() and path.exists()


def test_a_path_that_cannot_be_a_file(tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").touch()
    paths = (tmp_path / "file" / "run.jsonl", tmp_path / "none" / "run.jsonl", Path("/proc/run"))
    for path in paths:
        with pytest.raises(OutputError, match="cannot be written"):
            RunWriter.create(path, run.header, run.cases)


def test_a_pipe_is_left_where_it_is(tmp_path: Path, run: Run) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="pipe cannot be written"):
        RunWriter.create(pipe, run.header, overwrite=True)
    assert pipe.is_fifo()
