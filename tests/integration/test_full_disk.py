"""A disk that is full: the run ends in words, what was measured stays, and is gone on with.

Each test is run on a small disk of its own, where one may be mounted, else with a limit on the size
of files, which a process meets as it does a full disk; the first with both.
"""

import contextlib
import json
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from opperf.results.runfile import read_run

SIZE, LARGE = 64 * 1024, 16 * 1024**2
"""Bytes of the disk at first, which the records of some 50 cases fill, and of one large enough."""

LITTLE = 1024
"""Bytes that are left where nothing fits: no header, and no output."""

BRIEFLY = ("--framework", "numpy", "--size", "small", "--max-configs", "1",
           "-w", "0", "-r", "1", "--no-memory", "--quiet")  # fmt: skip
"""No single call is taken for a stall, which would be measured again."""

CASES = (*BRIEFLY, "--category", "unary")
"""A run of 70 cases, in two seconds, which does not fit on the disk."""

FEW = ("abs", "exp", *BRIEFLY)
"""A run for a disk that has no room for a header, or for an output."""


class Mounted:
    """A file system in memory."""

    error = "No space left on device; free space there"

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        if not self._mount(f"size={SIZE}"):
            pytest.skip("nothing may be mounted here; a limit on the size of files stands in")
        return self

    def __exit__(self, *error):
        subprocess.run(["umount", self.folder], check=True)

    def _mount(self, options):
        command = ["mount", "-t", "tmpfs", "-o", options, "opperf", self.folder]
        return shutil.which("mount") and not subprocess.run(command, stderr=-3).returncode

    def fill(self):
        """Leave little of the space."""
        with (self.folder / "filler").open("wb") as file:
            file.write(bytes(SIZE - LITTLE))

    def grow(self):
        assert self._mount(f"remount,size={LARGE}")


class Limited:
    """A folder for processes whose files may not grow past a size."""

    error = "File too large; allow larger files (ulimit -f)"

    def __init__(self, folder):
        self.folder, self._size = folder, SIZE

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def fill(self):
        self._size = LITTLE

    def grow(self):
        self._size = LARGE

    def in_child(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, resource.RLIM_INFINITY))


def kind_here():
    """A small disk where one may be mounted, else a limit."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as mounted:
        try:
            mounted.enter_context(Mounted(folder))
        except pytest.skip.Exception:
            return Limited
        return Mounted


@pytest.fixture(params=[kind_here()], ids=lambda kind: kind.__name__.lower())
def disk(request, tmp_path):
    folder = tmp_path / "small disk"
    folder.mkdir()
    with request.param(folder) as made:
        yield made


class Shell:
    """opperf in a folder that has space: in this process, or, where files are limited, in one of
    its own."""

    def __init__(self, command, disk):
        self._command, self._disk = command, disk
        self.folder, self.cache, self.files = command.folder, command.home / "cache", command.files

    def __call__(self, *arguments, code=0, program=("-m", "opperf")):
        """What it prints on standard error: warnings, and one line if it fails."""
        self._command.variables["XDG_CACHE_HOME"] = str(self.cache)
        words = list(map(str, arguments))
        if isinstance(self._disk, Mounted):
            _, err = self._command(*words, code=code)
        else:
            err = self._in_limited_process([*program, *words], code)
        *warnings, last = err.splitlines() or [""]
        assert all(line.startswith("warning: ") for line in warnings), err
        assert last.startswith("opperf: ") is (code != 0), err
        return err

    def _in_limited_process(self, words, code):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self._command.variables,
            preexec_fn=self._disk.in_child,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr


@pytest.fixture
def shell(command_here, disk):
    return Shell(command_here, disk)


def going_on(err):
    """The arguments of the command that finishes the run."""
    return shlex.split(err.partition("Resume with: opperf ")[2])


def check_whole(path):
    """The run file is finished, each planned case once in it."""
    run, warnings = read_run(path)
    assert warnings == [] and run.closing is not None
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    counts = Counter(line["id"] for line in lines if line["line"] == "record")
    assert list(counts) == list(run.planned) and set(counts.values()) == {1}
    return run


@pytest.mark.parametrize("disk", [Mounted, Limited], indirect=True, ids=["mounted", "limited"])
def test_the_run_file_takes_no_more(shell, disk):
    path = disk.folder / "run.jsonl"
    err = shell("run", *CASES, "-f", "jsonl", "-o", path, code=2)
    assert f"opperf: {path} cannot be written: {disk.error}; " in err
    assert f"the records are in {path}. " in err
    half, warnings = read_run(path)
    assert warnings == [] and half.closing is None and path.read_bytes().endswith(b"\n")
    done = [record.id for record in half.records]
    assert 0 < len(done) < len(half.planned)
    assert done == list(half.planned[: len(done)])

    # As full as before: nothing is lost by trying.
    before = path.read_bytes()
    again = shell(*going_on(err), "--quiet", code=2)
    assert disk.error in again and going_on(again) == going_on(err)
    assert path.read_bytes() == before

    disk.grow()
    assert shell(*going_on(err), "--quiet") == ""
    whole = check_whole(path)
    assert whole.records[: len(done)] == half.records and whole.header == half.header


def test_the_cache_takes_no_more(shell, disk):
    """Where a run into another format keeps its records while it lasts."""
    shell.cache = disk.folder
    err = shell("run", *CASES, "-o", "an output.json", code=2)
    (path,) = disk.folder.rglob("*.jsonl")
    assert f"opperf: {path} cannot be written: {disk.error}; " in err
    assert shell.files() == []
    half, _ = read_run(path)
    assert 0 < len(half.records) < len(half.planned)

    disk.grow()
    assert going_on(err) == ["run", "--resume", "-f", "json", "-o", "an output.json"]
    shell(*going_on(err), "--quiet")
    results = json.loads((shell.folder / "an output.json").read_text())
    assert len(results) == len(half.planned)
    assert list(disk.folder.rglob("*.jsonl")) == []


@pytest.mark.parametrize("where", ["output", "cache"])
def test_a_run_that_cannot_be_begun_leaves_nothing_in_the_way_of_the_next(shell, disk, where):
    disk.fill()
    output = ("-f", "jsonl", "-o", disk.folder / "run.jsonl")
    if where == "cache":
        shell.cache, output = disk.folder, ("-o", "out.json")
    err = shell("run", *FEW, *output, code=2)
    assert f".jsonl cannot be written: {disk.error}" in err and "Resume with" not in err
    assert ("OPPERF_CACHE" in err) is (where == "cache")
    assert list(disk.folder.rglob("*.jsonl")) == [] and shell.files() == []
    disk.grow()
    shell("run", *FEW, *output)
    assert where == "cache" or check_whole(disk.folder / "run.jsonl")


FULL_WHEN_DONE = """
import resource
from opperf.opperf import main
from opperf.reports import writing

write = writing.write


def limited(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    return write(*arguments)


writing.write = limited
main()
"""
"""opperf on a disk that is full once everything is measured."""


@pytest.mark.parametrize(
    "output_format, files", [("json", ["out.environment.json", "out.json"]), ("md", ["out.md"])]
)
def test_an_output_that_does_not_fit(shell, disk, output_format, files):
    output = disk.folder / f"out.{output_format}"
    program = ("-m", "opperf")
    if isinstance(disk, Mounted):
        disk.fill()
    else:
        disk.grow()
        program = ("-c", FULL_WHEN_DONE)
    before = sorted(disk.folder.iterdir())
    err = shell("run", *FEW, "-f", output_format, "-o", output, code=2, program=program)
    assert f"opperf: {disk.folder / files[0]} cannot be written: {disk.error}; " in err
    (records,) = shell.cache.rglob("unfinished/*.jsonl")
    assert f"the records are in {records}. " in err
    run = check_whole(records)
    assert sorted(disk.folder.iterdir()) == before, "half an output, or what it was made from"

    disk.grow()
    shell(*going_on(err), "--quiet")
    made = {path.name for path in disk.folder.iterdir()} - {path.name for path in before}
    assert sorted(made) == files and not records.exists()
    assert all(record.case.label in output.read_text() for record in run.records)


def test_the_list_of_operators_is_shown_where_it_cannot_be_kept(shell, disk):
    shell.cache = disk.folder
    disk.fill()
    err = shell("list", "add", "--framework", "numpy")
    assert err.startswith("warning: the list of operators is not cached: ") and disk.error in err
    assert list(disk.folder.rglob("*.json")) == list(disk.folder.rglob(".opperf-part-*")) == []


def test_coverage_has_nowhere_to_keep_its_records(shell, disk):
    shell.cache = disk.folder
    disk.fill()
    err = shell("coverage", "--framework", "numpy", "--quiet", code=2)
    assert f"numpy.jsonl cannot be written: {disk.error}; or set OPPERF_CACHE" in err
    assert list(disk.folder.rglob("*.jsonl")) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "command", [("--version",), ("list", *CASES[:2], "--format", "json"), ("ab", "-h")]
)
def test_standard_output_on_a_full_disk(command):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "opperf", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "opperf: standard output cannot be written: No space left on device; free space there\n"
    )
