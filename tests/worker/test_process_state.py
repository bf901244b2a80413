"""What a case leaves changed in its worker: it is restored, or the worker is replaced, and the
record says so."""

import gc
import os
import resource
import signal
import subprocess
import sys
import time
import warnings

import msgspec
import numpy as np
import pytest

from opperf.frameworks.base import ProcessPart
from opperf.model import Case, FileTarget, NoteCode, Settings, Status, TensorSpec
from opperf.sources.selecting import Selection
from opperf.worker import process_state
from opperf.worker.client import Worker
from opperf.worker.process_state import ProcessState
from tests.running import is_running

WAIT_S = 30


def lower_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))


CHANGES = {
    "the working directory changed": lambda: os.chdir("/"),
    "the umask changed": lambda: os.umask(0o123),
    "limits of resources changed": lower_files,
    "handlers of signals changed": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    "signals blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]),
    "a timer running": lambda: signal.setitimer(signal.ITIMER_VIRTUAL, 1000),
    "garbage collection changed": gc.disable,
    "a tracer set": lambda: sys.setprofile(lambda *event: None),
    "Python's streams changed": lambda: setattr(sys, "stdin", None),
    "the recursion limit changed": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 7),
    "environment variables changed": lambda: os.environ.update(LEFT_BY_A_CASE="1"),
    "sys.path changed": lambda: sys.path.insert(0, "/left"),
    "filters of warnings changed": lambda: warnings.simplefilter("error"),
    "NumPy's errors changed": lambda: np.seterr(all="raise"),
}
"""What a case may do, by what it has left then."""


@pytest.fixture
def users_case(make_case):
    return msgspec.structs.replace(make_case("relu"), target=FileTarget("fake", "a.py", "f"))


@pytest.fixture
def state(fake):
    """Begun by each test, as pytest sets a variable before it."""
    return ProcessState(fake)


@pytest.mark.parametrize("left", CHANGES)
def test_what_a_case_left_changed_is_restored(fake, state, users_case, left):
    state.begin()
    part = next(part for part in process_state.parts_of(fake) if part.left == left)
    before = part.read()
    CHANGES[left]()
    assert part.is_changed(before, part.read())
    found = state.settle(users_case)
    assert (found.restored, found.lost) == ((left,), ())
    assert not part.is_changed(before, part.read())
    assert found.note.message == f"left {left}: restored"
    assert state.settle(users_case).note is None


def test_what_a_framework_sets_up_at_its_first_use_stays(state, users_case, make_case, monkeypatch):
    state.begin()
    monkeypatch.setenv("SET_UP", "1")
    assert state.settle(make_case("relu")).note is None
    assert os.environ["SET_UP"] == "1"
    assert state.settle(users_case).note is None


def test_what_a_framework_sets_for_itself_is_no_change_by_a_case(fake, users_case, monkeypatch):
    fake.processes.own_variables = ("CACHE_OF_ITS_COMPILER",)
    monkeypatch.delenv("CACHE_OF_ITS_COMPILER", raising=False)
    state = ProcessState(fake)
    state.begin()
    monkeypatch.setenv("CACHE_OF_ITS_COMPILER", "/somewhere")
    assert state.settle(users_case).note is None
    assert os.environ["CACHE_OF_ITS_COMPILER"] == "/somewhere"


def test_what_a_module_sets_up_stays_and_what_its_function_sets_does_not(
    state, users_case, monkeypatch
):
    state.begin()
    monkeypatch.delenv("BY_FUNCTION", raising=False)
    with state.importing():
        monkeypatch.setenv("BY_MODULE", "1")
    os.environ["BY_FUNCTION"] = "1"
    assert state.settle(users_case).restored == ("environment variables changed",)
    assert os.environ["BY_MODULE"] == "1" and "BY_FUNCTION" not in os.environ


def test_an_import_in_the_scope_of_a_case_does_not_keep_what_the_scope_set(state, users_case):
    state.begin()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with state.importing():
            warnings.simplefilter("ignore", ResourceWarning)
    assert state.settle(users_case).note is None


def test_what_cannot_be_restored_costs_the_process(fake, users_case, monkeypatch):
    values = iter([0, 1, 1])

    def refuse(before):
        raise ValueError("not by this user")

    own = ProcessPart("a part changed", lambda: next(values), refuse)
    monkeypatch.setattr(fake.processes, "parts", (own,), raising=False)
    state = ProcessState(fake)
    state.begin()
    found = state.settle(users_case)
    assert found.lost == ("a part changed",)
    assert found.note.message == "left a part changed: its worker was replaced"


def test_what_a_case_has_made_unreadable_is_restored_or_costs_the_process(
    state, users_case, monkeypatch
):
    state.begin()
    path = sys.path
    monkeypatch.setattr(sys, "path", None)
    found = state.settle(users_case)
    monkeypatch.setattr(sys, "path", path)
    assert found.lost == ("sys.path changed",)


@pytest.mark.parametrize(
    "before, now, many",
    [
        ((10, 1024), (12, 1024), False),
        ((10, 1024), (60, 1024), True),
        ((1000, 1024), (1001, 1024), True),
        # Few are left, but not by this case.
        ((1000, 1024), (1000, 1024), False),
    ],
)
def test_files_that_are_left_open_count_once_they_are_many(before, now, many):
    assert process_state._are_many(before, now) is many


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's list of children")
def test_a_process_that_is_left_running_is_seen_and_ended(state, users_case):
    state.begin()
    with subprocess.Popen(["sleep", "600"]) as child:
        assert state.settle(users_case).lost == ("processes running",)
        state.end_processes()
        child.wait(WAIT_S)
    # One that has ended is none that runs.
    assert state.settle(users_case).note is None


LEAVES = """
import os
import time


def changes(x):
    os.chdir("/")
    os.umask(0o77)
    return x + 1


def forks(x):
    if os.fork() == 0:
        os.setsid()
        with open({pids!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        time.sleep(600)
        os._exit(0)
    return x + 1


def leaves_nothing(x):
    return x + 1
"""


def test_a_worker_measures_each_case_as_if_it_were_the_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pids = tmp_path / "pids"
    (tmp_path / "mine.py").write_text(LEAVES.format(pids=str(pids)))
    settings = Settings(profiler="python", runs=2, warmup=1)

    def measured(name):
        # A relative path leads elsewhere from another folder.
        target = FileTarget("numpy", "mine.py", name)
        return worker.measure(Case(target, {"x": TensorSpec((3,))}, settings, ("forward",)))

    with Worker("numpy") as worker:
        changes = measured("changes")
        assert changes.note("", NoteCode.LEFT_CHANGED).message == (
            "left the working directory changed, the umask changed: restored"
        )
        assert worker.launches == 1
        forks = measured("forks")
        assert forks.note("", NoteCode.LEFT_CHANGED).message == (
            "left processes running: its worker was replaced"
        )
        left = [int(pid) for pid in pids.read_text().split()]
        deadline = time.monotonic() + WAIT_S
        while any(map(is_running, left)):
            assert time.monotonic() < deadline, "a fork of a case goes on"
            time.sleep(0.05)
        last = measured("leaves_nothing")
        assert worker.launches == 2
    assert [one.status for one in (changes, forks, last)] == [Status.OK] * 3
    assert last.note("", NoteCode.LEFT_CHANGED) is None


def test_an_import_that_hangs_costs_its_own_cases(tmp_path):
    hanging, good = tmp_path / "hanging.py", tmp_path / "good.py"
    hanging.write_text("import time\ntime.sleep(600)\n")
    good.write_text("def function(x):\n    return x + 1\n")
    settings = Settings(profiler="python", runs=2, warmup=1, memory=False, timeout_s=1.0)
    names = (f"{hanging}:function", f"{good}:function")
    selection = Selection(patterns=names, settings=settings, shapes={"x": (3,)})
    with Worker("numpy") as worker:
        plan = worker.plan(selection)
        assert [case.target.file for case in plan.cases] == [str(good)]
        assert plan.excluded == {
            names[0]: f"importing {hanging} took over 1 s; raise --timeout, or correct the file"
        }
        # It is not awaited twice.
        launches = worker.launches
        assert worker.plan(selection) == plan and worker.launches == launches
        target = FileTarget("numpy", str(hanging), "function")
        record = worker.measure(Case(target, {"x": TensorSpec((3,))}, settings, ("forward",)))
    assert (record.status, record.reason) == (
        Status.TIMEOUT,
        f"not finished by the import of {hanging} after 1 s; raise --timeout",
    )
