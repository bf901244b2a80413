"""Forks of a worker: fresh processes, without another import."""

import os
import signal
import subprocess
import sys
import time

import msgspec
import psutil
import pytest

from opperf.model import Case, FileTarget, Settings, Status, TensorSpec
from opperf.processes import children
from opperf.processes.children import end_like, fork
from opperf.worker import case_process
from opperf.worker.client import Worker
from tests.running import is_running

WAIT_S = 60
"""Limit on what a process is about to do, on a busy machine."""

WITHOUT_MEMORY = Settings(memory=False)

CPU = ("cpu(0)",)


@pytest.fixture(scope="module")
def forking(variables):
    """Environment in which the fake framework supports forks."""
    return variables | {"FAKE_FORKS": "1"}


@pytest.fixture(scope="module")
def server(forking):
    """A worker of all tests of the module."""
    with Worker("fake", WITHOUT_MEMORY, forking) as made:
        yield made


def pids(worker):
    """The process of a worker and its children."""
    parent = psutil.Process(worker._process.pid)
    return parent.pid, [child.pid for child in parent.children()]


def wait_for_end(pid):
    deadline = time.monotonic() + WAIT_S
    while is_running(pid):
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.02)


def test_two_forks_are_two_processes_of_one_parent(server, make_case):
    before = server.launches
    assert server.begin_process(CPU)
    parent, (first,) = pids(server)
    assert server.measure(make_case("relu")).status is Status.OK
    assert server.begin_process(CPU)
    again, (second,) = pids(server)
    assert server.measure(make_case("relu")).status is Status.OK
    assert again == parent and first != second
    assert not is_running(first)
    assert server.launches >= before + 2


def outputs(worker, make_case):
    """Number of elements of the first output of an operator that counts its process's calls."""
    case = make_case("counts")
    return (worker.measure(case).moved_bytes - 4 * 4 * 4) // 4


def test_every_fork_is_of_a_process_that_has_run_nothing(server, make_case):
    for _ in range(2):
        server.begin_process(CPU)
        assert outputs(server, make_case) == 1
        assert outputs(server, make_case) > 1


def test_a_process_that_has_measured_is_not_forked(forking, make_case):
    with Worker("fake", WITHOUT_MEMORY, forking) as worker:
        assert outputs(worker, make_case) == 1
        used, _ = pids(worker)
        worker.begin_process(CPU)
        assert outputs(worker, make_case) == 1
        assert pids(worker)[0] != used and not is_running(used)


def test_without_support_each_process_is_a_new_one(variables, make_case):
    with Worker("fake", WITHOUT_MEMORY, variables) as worker:
        worker.environment()
        found = []
        for launches in (1, 2, 3):
            assert not worker.begin_process(CPU)
            assert worker.launches == launches, "a process that has run nothing is fresh"
            assert outputs(worker, make_case) == 1
            found.append(pids(worker))
    assert len({parent for parent, _ in found}) == 3
    assert not any(children for _, children in found)


def test_numpy_is_forked_with_a_random_state_of_its_own(tmp_path, variables):
    kernels = tmp_path / "kernels.py"
    # A length of 1 to 2**20, by the global generator, which a new process seeds at random.
    kernels.write_text(
        "import numpy as np\n\n"
        "def draw(data):\n    return np.zeros(np.random.randint(2**20) + 1, np.int8)\n"
    )
    case = Case(
        FileTarget("numpy", str(kernels), "draw"),
        {"data": TensorSpec((2,))},
        Settings(profiler="python", warmup=0, runs=1, memory=False),
        ("forward",),
    )
    with Worker("numpy", WITHOUT_MEMORY, variables) as worker:
        lengths = set()
        for _ in range(3):
            assert worker.begin_process(("cpu",))
            record = worker.measure(case)
            assert (record.status, record.reason) == (Status.OK, "")
            lengths.add(record.moved_bytes)
    assert len(lengths) > 1


@pytest.mark.parametrize(
    "name, reason",
    [
        ("segfaults", "the process was ended by SIGSEGV; last output: about to die"),
        ("is_killed", "the process was ended by SIGKILL; last output: about to die"),
        ("leaves", "the process ended with exit code 8"),
        ("exits", "the process ended with exit code 7"),
    ],
)
def test_a_fork_that_crashes_is_reported_as_a_worker_that_crashes(server, make_case, name, reason):
    server.begin_process(CPU)
    parent, (child,) = pids(server)
    launches = server.launches
    record = server.measure(make_case(name))
    assert record.status is Status.CRASHED and record.reason.startswith(reason)
    assert not is_running(parent)
    # Its memory and files are gone, and the rest of it a moment later.
    wait_for_end(child)
    server.begin_process(CPU)
    assert server.launches == launches + 2, "another import, and a fork"
    assert server.measure(make_case("relu")).status is Status.OK


def test_a_fork_that_hangs_is_ended_with_its_parent(server, make_case):
    server.begin_process(CPU)
    parent, (child,) = pids(server)
    record = server.measure(make_case("hangs", timeout_s=0.5))
    assert record.status is Status.TIMEOUT
    assert not is_running(parent)
    # Its memory and files are gone, and the rest of it a moment later.
    wait_for_end(child)
    server.begin_process(CPU)
    assert server.measure(make_case("relu")).status is Status.OK


def test_a_fork_that_does_not_end_is_replaced(server, make_case, monkeypatch):
    server.begin_process(CPU)
    parent, (child,) = pids(server)
    os.kill(child, signal.SIGSTOP)
    with monkeypatch.context() as patched:
        patched.setattr(case_process, "KILL_WAIT_S", 0.1)
        assert server.begin_process(CPU)
    assert pids(server)[0] != parent
    wait_for_end(child)
    assert server.measure(make_case("relu")).status is Status.OK


@pytest.mark.parametrize("which", ["parent", "fork"])
def test_a_process_that_dies_between_cases_is_replaced(server, make_case, which):
    server.begin_process(CPU)
    parent, (child,) = pids(server)
    os.kill(child if which == "fork" else parent, signal.SIGKILL)
    wait_for_end(parent)
    wait_for_end(child)
    assert server.begin_process(CPU)
    assert pids(server)[0] != parent
    assert server.measure(make_case("relu")).status is Status.OK


def test_ending_a_worker_ends_its_fork(forking):
    with Worker("fake", environment=forking) as worker:
        worker.begin_process(CPU)
        parent, children = pids(worker)
        assert len(children) == 2, "the fork, and the process that measures memory"
    assert not is_running(parent)
    # Their memory and files are gone, and the rest of them a moment later.
    for child in children:
        wait_for_end(child)


def test_a_fork_measures_memory(forking, make_case):
    with Worker("fake", environment=forking) as worker:
        for _ in range(2):
            worker.begin_process(CPU)
            record = worker.measure(make_case("relu"))
            assert record.summaries["memory"].median == 4 * 4 * 4
            assert not record.notes


MANAGER = """
import sys
import psutil
from opperf.model import Settings
from opperf.worker.client import Worker

worker = Worker("fake", Settings(memory=False))
worker.begin_process(("cpu(0)",))
parent = psutil.Process(worker._process.pid)
print(parent.pid, parent.children()[0].pid, flush=True)
"""

WAITS = "sys.stdin.read()"

MEASURES = """
import msgspec
from opperf.model import Case

worker.measure(msgspec.json.decode(sys.argv[1], type=Case))
"""


@pytest.mark.parametrize("program", [WAITS, MEASURES])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_fork_does_not_outlive_its_manager(forking, make_case, program, number):
    case = msgspec.json.encode(make_case("hangs")).decode()
    manager = subprocess.Popen(
        [sys.executable, "-c", MANAGER + program, case],
        env=forking,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # A shell starts what runs in its background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with manager:
        found = [int(word) for word in manager.stdout.readline().split()]
        assert all(map(is_running, found))
        manager.send_signal(number)
        manager.wait()
        for pid in found:
            wait_for_end(pid)


@pytest.mark.parametrize("run, code", [(lambda: None, 0), (lambda: sys.exit(3), 3), (len, 1)])
def test_a_fork_ends_with_the_code_of_its_function(run, code):
    _, status = os.waitpid(fork(run), 0)
    assert os.waitstatus_to_exitcode(status) == code


def test_a_fork_whose_parent_is_gone_runs_nothing(monkeypatch, tmp_path):
    ran = tmp_path / "ran"
    monkeypatch.setattr(children.os, "getppid", lambda: 1)
    os.waitpid(fork(ran.touch), 0)
    assert not ran.exists()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_a_process_ends_by_the_signal_of_its_child(number):
    def run():
        # A framework may handle the signal, and the child's end would then be its handler's.
        if number != signal.SIGKILL:
            signal.signal(number, lambda *_: None)
        end_like(os.waitpid(fork(lambda: die(number)), 0)[1])

    _, status = os.waitpid(fork(run), 0)
    assert os.waitstatus_to_exitcode(status) == -number


def die(number):
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
