"""Ctrl-C, a signal to end, a terminal that is closed: at any moment opperf ends, its workers with
it, and what was measured is gone on with."""

import shlex
import signal
import time
from collections import Counter

import psutil
import pytest
from moments import Moments

from opperf.errors import INTERRUPTED, TERMINATED
from opperf.model import Status
from opperf.results.runfile import read_run

WAIT_S = 60
"""How long a process may take to do what it is about to do, on a busy machine."""

QUICK = ("relu", "rounded", "negative", "with_workspace", "dropout", "add", "add_n", "copyto")
COUNTS = ("--size", "small", "-w", "0", "-r", "100")


def wait_for(condition, process):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)


def is_importing(process):
    """Whether a process has a worker that runs Python, and imports what it is told to."""
    try:
        return any(
            "opperf.worker.serve" in child.cmdline()
            for child in psutil.Process(process.pid).children()
        )
    except psutil.Error:
        return False


def records_in(path):
    return path.read_bytes().count(b'{"line":"record"') if path.exists() else 0


def wait_for_records(path, count, process):
    wait_for(lambda: records_in(path) >= count, process)


def is_running(process):
    """Whether it has not ended; one that waits for its parent to ask for its exit code has."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def end(process, number=signal.SIGINT):
    """Send a signal; the exit code and what the process printed, once it is gone with all that it
    had started."""
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, err = process.communicate(timeout=WAIT_S)
    deadline = time.monotonic() + WAIT_S
    while any(map(is_running, started)):
        assert time.monotonic() < deadline, "a process is left"
        time.sleep(0.01)
    assert "Traceback" not in err
    return process.returncode, err


def going_on(err):
    """The arguments of the command that goes on with the run."""
    return shlex.split(err.partition("Resume with: opperf ")[2])


@pytest.mark.parametrize(
    "command",
    [("run", "relu", "-f", "jsonl", "-o", "run.jsonl"), ("list",), ("show", "relu"), ("coverage",)],
    ids=" ".join,
)
def test_while_the_framework_is_imported(start, folder, tmp_path, command):
    with start(*command, framework="slow") as process:
        wait_for(lambda: is_importing(process), process)
        code, err = end(process)
    assert (code, err.strip()) == (INTERRUPTED, "interrupted")
    assert list(folder.iterdir()) == [] and not (tmp_path / "cache").exists()


def test_while_a_case_takes_long(start, folder):
    path = folder / "run.jsonl"
    with start("run", "add", "hangs", "-f", "jsonl", "-o", "run.jsonl") as process:
        wait_for_records(path, 1, process)
        # In the middle of the call that never returns, or about to begin it.
        code, err = end(process)
    assert code == INTERRUPTED
    assert "interrupted; the records are in run.jsonl. " in err
    assert going_on(err) == ["run", "--resume", "run.jsonl"]
    run, warnings = read_run(path)
    assert [record.case.label for record in run.records] == ["add"] and not warnings
    assert [record.status for record in run.records] == [Status.OK]


def test_while_a_worker_that_died_is_replaced(start, folder):
    path = folder / "run.jsonl"
    options = ("--max-configs", "1", "-f", "jsonl", "-o", "run.jsonl", "--quiet")
    with start("run", "segfaults", "with_workspace", *options, framework="slow_again") as process:
        wait_for(lambda: records_in(path) == 1 and is_importing(process), process)
        code, err = end(process)
    assert code == INTERRUPTED and going_on(err) == ["run", "--resume", "run.jsonl"]
    (record,) = read_run(path)[0].records
    assert (record.case.label, record.status) == ("segfaults", Status.CRASHED)


def test_while_coverage_runs_everything(start, tmp_path):
    path = tmp_path / "cache" / "opperf" / "coverage" / "fake.jsonl"
    with start("coverage", "--quiet") as process:
        wait_for_records(path, 1, process)
        code, err = end(process)
    assert code == INTERRUPTED
    assert err == f"interrupted; the records are in {path}\n"
    assert read_run(path)[0].closing is None


@pytest.mark.parametrize(
    "number, moment",
    [(signal.SIGTERM, "imports"), (signal.SIGTERM, "measures"), (signal.SIGHUP, "measures")],
)
def test_other_signals_leave_no_process_behind(start, folder, number, moment):
    path = folder / "run.jsonl"
    options = ("-f", "jsonl", "-o", "run.jsonl", "--quiet")
    framework = "slow" if moment == "imports" else "fake"
    with start("run", "add", "hangs", *options, framework=framework) as process:
        # In its first moments it has not yet told the kernel to end it with its parent.
        wait_for(lambda: is_importing(process), process)
        if moment == "measures":
            wait_for_records(path, 1, process)
        code, _ = end(process, number)
    # The command itself ends by SIGTERM; the kernel ends it by others.
    assert code == (TERMINATED if number == signal.SIGTERM else -number)
    if moment == "measures":
        run, warnings = read_run(path)
        assert warnings == [] and len(run.records) == 1


INTERRUPTS = [slice(0, 4), pytest.param(slice(4, 12), marks=pytest.mark.sweep)]
"""Which of the random moments: the sweep has those that are left."""


@pytest.mark.parametrize("interrupts", INTERRUPTS, ids=str)
def test_at_random_moments(start, folder, tmp_path, interrupts):
    new = ("run", *QUICK, *COUNTS, "--quiet", "-f", "jsonl", "-o")

    def started(*arguments, variables):
        return start(*(arguments or (*new, "counted.jsonl")), variables=variables)

    moments = Moments("manager", tmp_path, started)
    number, cut_short = 0, 0
    path, arguments = folder / "run0.jsonl", ()
    drawn = moments.drawn(interrupts, seed=13)
    for moment in drawn:
        before = path.read_bytes() if path.exists() else None
        moments.ask(signal.SIGINT, moment)
        with moments.start(*(arguments or (*new, path.name))) as process:
            _, err = process.communicate(timeout=WAIT_S)
        code = process.returncode
        # In a callback, as of a weak reference, Python cannot raise: it says so and goes on.
        ignored = "Exception ignored in" in err
        assert moments.came and (ignored or "Traceback" not in err)
        if (path.read_bytes() if path.exists() else None) == before:
            # It was in the middle of its imports, or waited for those of its worker.
            assert code == INTERRUPTED and err.strip().startswith("interrupted")
            continue
        run, warnings = read_run(path)
        counts = Counter(record.id for record in run.records)
        assert set(counts) <= set(run.planned) and set(counts.values()) <= {1}
        assert all(record.status is Status.OK for record in run.records)
        if code == INTERRUPTED and run.closing is None:
            arguments = going_on(err)
            assert arguments == ["run", "--resume", path.name]
            cut_short += 1
        else:
            assert code in (0, INTERRUPTED) and sorted(counts) == sorted(run.planned)
            number, arguments = number + 1, ()
            path = folder / f"run{number}.jsonl"
    # Every other moment is between two records, of a run that has that many left.
    assert cut_short >= len(drawn) / 4
