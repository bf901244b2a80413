"""The fake framework of `tests/fake`, in this process and for workers. Tests that need MXNet are
skipped if it is not installed."""

import functools
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.folders import DATA
from opperf.machine.environment import environment
from opperf.machine.pinning import NONE, Pinning
from opperf.metrics import process_settings
from opperf.model import Case, OperatorTarget, Settings, TensorSpec
from opperf.models.base import models_of
from opperf.sources.registry import plan
from opperf.sources.resolving import resolve, resolve_selection
from opperf.worker.answers import list_operators, script, trace, try_call
from opperf.worker.binding import check_models
from opperf.worker.call_outputs import observe
from opperf.worker.client import Worker
from opperf.worker.measure import measure
from tests.needing_mxnet import pytest_pycollect_makemodule  # noqa: F401  (pytest calls it)

FAKE = Path(__file__).resolve().parent / "fake"
sys.path.insert(0, str(FAKE))

from faked_machine import faked, quiet  # noqa: E402, F401

# JAX compiles each call of another shape, and LLVM's optimizations take most of that time. No test
# is about the speed of what it makes.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


# What is imported and collected stays: each of hundreds of collections would look at it in vain.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """The longest tests are the first, so that what is left at the end is short, and no process
    waits for another. Those of the cluster follow each other, so that there is only one."""
    items.sort(
        key=lambda one: (one.get_closest_marker("sweep") is None, "cluster" not in one.fixturenames)
    )


def pytest_collection_finish():
    """What is there before the first test is no garbage: each of thousands of collections, as every
    measuring begins with one, would look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def what_a_module_leaves_is_no_garbage():
    """As `pytest_collection_finish`, of what a module's tests have imported, planned and kept."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch, tmp_path_factory):
    """In this process nothing waits for a core, no core is busy and no other run has one, whatever
    else runs on the machine."""
    from opperf.instruments.profilers import waits
    from opperf.machine import core_use

    # Made where it is used: a folder for each of ten thousand tests takes its time.
    folder = functools.cache(lambda: tmp_path_factory.mktemp("cores"))
    monkeypatch.setattr(core_use, "shared_folder", folder)
    monkeypatch.setattr(core_use, "watch_cores", dict)
    monkeypatch.setattr(waits, "read", lambda: waits.Reading(0.0, {1: (0.0, 0)}, 0, 0, 0.0, 0.0))


@pytest.fixture(scope="session", autouse=True)
def waits_are_measured_once():
    """What workers wait for is not as in `quiet_machine`: tests keep all cores busy, and a case
    that waited for one would be measured again with one thread, for which another worker imports
    the framework for seconds."""
    from opperf.execution import execute

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(execute, "find_contended", lambda records, unsettled: [])
        yield


@pytest.fixture(scope="session", autouse=True)
def kept_runs_apart(tmp_path_factory):
    """The runs of tests are not kept among the user's."""
    os.environ[DATA] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture
def fake():
    from fake_framework import FakeFramework

    return FakeFramework()


@pytest.fixture
def make_case():
    def made(name, shape=(4, 4), passes=("forward",), dtype="float32", arguments=None, **settings):
        data = TensorSpec(shape, dtype, gradient=True)
        return Case(
            target=OperatorTarget("fake", name),
            arguments={"data": data} if arguments is None else arguments,
            settings=Settings(dtype=dtype, **{"warmup": 1, "runs": 3} | settings),
            passes=passes,
        )

    return made


@pytest.fixture(scope="session")
def variables():
    """Environment of a process whose opperf finds the fake framework as an installed one."""
    paths = [str(FAKE), str(FAKE.parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.fixture(scope="module")
def worker(variables):
    """A worker of all tests of a module: it takes a second to start, and starts again by itself."""
    with Worker("fake", environment=variables) as made:
        yield made


class InProcess:
    """A worker that uses the fake framework in this process."""

    is_foreign = has_own_modules = False

    def __init__(self, fake):
        self.fake, self.ends, self.measured = fake, 0, []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()

    def environment(self):
        return environment(self.fake)

    def resolve_selection(self, selection):
        return resolve_selection(selection, self.resolve)

    def resolve(self, axes):
        return resolve(self.fake, axes)

    def plan(self, selection, found=None):
        return plan(self.fake, selection, found)

    def listing(self, paths=()):
        return list_operators(self.fake, paths)

    def scripts(self, cases):
        return tuple(script(self.fake, case) for case in cases)

    def models(self, suite, folder=""):
        return models_of(suite, self.fake.name, folder)

    def check_models(self, cases):
        check_models(self.fake, cases)

    def measure(self, case, ahead=None):
        self.measured.append(case)
        return measure(case, self.fake)

    def try_call(self, case, timeout_s):
        return try_call(case, self.fake)

    log = ""

    def trace(self, cases, chrome, execution, least_s=0.0):
        return trace(self.fake, cases, chrome, "", least_s)

    def observe(self, case, folder, draw=0):
        return observe(case, self.fake, folder, draw)

    def end(self):
        self.ends += 1


@pytest.fixture
def in_process(fake):
    return InProcess(fake)


class InProcessWorkers:
    """The workers of a run, all in this process."""

    lanes = 1

    def __init__(self, worker, started, interpreters=(), pinning=None):
        self.worker, self.started, self.interpreters = worker, started, tuple(interpreters)
        self.pinning = pinning or Pinning(NONE)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.worker.end()

    def close(self):
        self.worker.end()

    def add_interpreters(self, interpreters):
        self.interpreters += tuple(interpreters)

    @property
    def program_cpus(self):
        return self.pinning.available

    def of(self, framework, settings=None):
        process = (framework, settings.threads if settings else None)
        if process not in self.started:
            self.started.append(process)
            count = self.pinning.core_count(process_settings(settings or Settings()), os.environ)
            self.pinning.keep_off(self.pinning.choose(count))
        return self.worker

    def environment(self, case):
        return self.of(case.target.framework, case.settings).environment()

    def measure(self, case):
        return self.of(case.target.framework, case.settings).measure(case)


@pytest.fixture
def in_process_workers(in_process):
    """Returns a factory of such workers, and the framework and threads of each started worker."""
    started = []
    return functools.partial(InProcessWorkers, in_process, started), started


SLOW = """
import os
import time

from fake_framework import FakeFramework


def slow():
    time.sleep(3600)


def slow_again():
    if os.path.exists("run.jsonl"):
        time.sleep(3600)
    return FakeFramework()
"""
"""Frameworks that take an hour to import: always, and for a worker that replaces another."""

ENTRY_POINTS = "[opperf.frameworks]\nslow = slow:slow\nslow_again = slow:slow_again\n"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def start(variables, tmp_path, folder):
    """Start opperf with a fake framework, in an empty folder and with an empty cache."""
    installed = tmp_path / "installed"
    (installed / "slow-1.dist-info").mkdir(parents=True)
    (installed / "slow-1.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    (installed / "slow.py").write_text(SLOW)
    found = os.pathsep.join([str(installed), variables["PYTHONPATH"]])

    def started(*arguments, framework="fake", variables=variables):
        path = os.pathsep.join([variables["PYTHONPATH"], found])
        return subprocess.Popen(
            [sys.executable, "-m", "opperf", *arguments, "--framework", framework],
            env=os.environ
            | variables
            | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": path},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell starts what is in the background with SIGINT ignored, nohup with SIGHUP, and
            # that is inherited.
            preexec_fn=lambda: [
                signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)
            ],
        )

    return started
