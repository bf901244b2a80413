"""A run of a process that is cut short, and the one, in this process, that finishes it."""

import json
import shlex
import signal
import time
from contextlib import contextmanager

import psutil
import pytest
from moments import signal_at_record

from opperf.results.runfile import read_run

WAIT_S = 120

NUMPY = ("--framework", "numpy", "--size", "small", "-w", "0")
"""NumPy, as its workers start fastest."""

SIX = ("sin", "cos", *NUMPY, "-r", "4")
"""Six cases."""


@pytest.fixture
def stopped(command_here, tmp_path):
    """Start a run that stops when it has so many records on file; the process, once it has."""

    @contextmanager
    def started(records, *arguments):
        moment = tmp_path / "moment"
        variables = signal_at_record(moment, signal.SIGSTOP, records + 1)
        command_here.variables, usual = command_here.variables | variables, command_here.variables
        with command_here.start(*arguments) as process:
            command_here.variables = usual
            manager = psutil.Process(process.pid)
            wait_for(lambda: manager.status() == psutil.STATUS_STOPPED, process)
            yield process

    return started


def wait_for(condition, process):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def interrupt(process):
    """Ctrl-C; what the process prints, once it has ended."""
    workers = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    gone, alive = psutil.wait_procs(workers, timeout=WAIT_S)
    assert alive == []
    return out, err


def going_on(err):
    """The command that opperf says goes on with the run."""
    (words,) = [
        line.partition("Resume with: opperf ")[2]
        for line in err.splitlines()
        if "Resume with: " in line
    ]
    return shlex.split(words)


def test_a_run_file(command_here, stopped):
    path = command_here.folder / "run.jsonl"
    with stopped(1, *SIX, "-f", "jsonl", "-o", "run.jsonl") as process:
        # It waits, with the file locked, while others try.
        for others in (("sin", *NUMPY, "--overwrite"), ("--resume",)):
            _, err = command_here(*others, "-f", "jsonl", "-o", "run.jsonl", "--quiet", code=2)
            assert err.startswith("opperf: run.jsonl is being written by another opperf; wait")
            assert err.count("\n") == 1
        _, err = interrupt(process)
    half, warnings = read_run(path)
    assert warnings == [] and half.closing is None
    assert len(half.records) in (1, 2) and len(half.planned) == 6
    assert "interrupted; the records are in run.jsonl" in err

    arguments = going_on(err)
    for contrary, words in (
        (("-r", "7"), "--runs 4, not 7"),
        (("--ops", "sin"), "--ops ('sin', 'cos'), not ('sin',)"),
        (("--dtype", "float64"), "--dtype 'float32', not 'float64'"),
    ):
        _, err = command_here(*arguments, *contrary, code=2)
        assert err.startswith("opperf: the run to resume was made with ") and words in err
        assert err.count("\n") == 1
    _, err = command_here("sin", *NUMPY, "-f", "jsonl", "-o", "run.jsonl", code=2)
    assert "--overwrite to replace it, or --resume to finish it" in err
    assert read_run(path) == (half, [])

    out, err = command_here(*arguments)
    assert "warning" not in err
    whole, warnings = read_run(path)
    assert warnings == [] and whole.closing.counts == {"ok": 6}
    assert [record.id for record in whole.records] == list(whole.planned)
    assert whole.records[: len(half.records)] == half.records
    assert whole.header == half.header
    assert f"6 cases of 2 operators, {len(half.records)} of them already done" in out
    assert command_here.files() == ["run.jsonl"] and command_here.unfinished() == []

    # With nothing left to do, it does nothing, and says what there is.
    out, err = command_here(*arguments)
    assert "6 of them already done" in out and "(6 ok)" in out and err == ""
    assert read_run(path)[0].records == whole.records


def test_another_format_and_a_line_that_was_cut_short(command_here, stopped):
    # The threads are those of the run that was cut short, without being named again.
    with stopped(1, *SIX, "--threads", "1", "-o", "out.json") as process:
        _, err = interrupt(process)
    assert command_here.files() == []
    (path,) = command_here.unfinished()
    half, _ = read_run(path)
    assert len(half.records) in (1, 2)
    # As after a power loss: the last line is not whole.
    with path.open("ab") as file:
        file.write(b'{"line":"record","record":{"case"')
    arguments = going_on(err)
    assert arguments == ["run", "--resume", "-f", "json", "-o", "out.json"]
    _, err = command_here(*arguments)
    assert f"warning: {path}: the last line was cut short" in err
    results = json.loads((command_here.folder / "out.json").read_text())
    assert {name: len(found) for name, found in results.items()} == {"cos": 3, "sin": 3}
    assert command_here.files() == ["out.environment.json", "out.json"]
    assert command_here.unfinished() == []


def test_a_run_file_into_another_format(command_here, stopped):
    path = command_here.folder / "run.jsonl"
    with stopped(1, *SIX, "-f", "jsonl", "-o", "run.jsonl") as process:
        interrupt(process)
    with stopped(1, "--resume", "run.jsonl", "-f", "md", "-o", "out.md") as process:
        _, err = interrupt(process)
    assert going_on(err) == ["run", "--resume", "run.jsonl", "-f", "md", "-o", "out.md"]
    command_here(*going_on(err))
    assert len(read_run(path)[0].records) == 6
    assert (command_here.folder / "out.md").read_text().count("\n| sin ") == 3
    assert command_here.files() == ["out.md", "run.jsonl"]


def test_an_interrupt_before_anything_is_measured(command_here):
    with command_here.start("relu") as process:
        wait_for(lambda: psutil.Process(process.pid).children(), process)
        out, err = interrupt(process)
    # Click ends the line that an interrupt may have cut.
    said, last = filter(None, err.splitlines())
    assert (out, last) == ("", "interrupted") and said.startswith("framework: mxnet ")
    assert command_here.files() == [] and command_here.unfinished() == []


def test_a_run_of_another_framework_goes_on_with_that_one(command_here):
    options = ("sin", *NUMPY, "-r", "1", "-f", "jsonl", "-o", "run.jsonl")
    command_here(*options)
    run, _ = read_run(command_here.folder / "run.jsonl")
    out, _ = command_here("--resume", "run.jsonl")
    assert "already done" in out
    command_here("--resume", "run.jsonl", "-f", "csv")
    assert (command_here.folder / "run.csv").read_text().count(",sin,") == len(run.records)
    _, err = command_here("--resume", "run.jsonl", "--framework", "mxnet", code=2)
    assert "made with --framework 'numpy', not 'mxnet'" in err
