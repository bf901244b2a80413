"""What the tests that run real MXNet share: short ways to measure one call."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opperf  # noqa: F401  (restores what MXNet needs of NumPy, before a test imports MXNet)
from opperf.api.calls import call_settings
from opperf.api.selections import load_for_measuring
from opperf.execution.executor import InProcess
from opperf.frameworks import Framework
from opperf.instruments.prepared import PreparedCase
from opperf.model import Case, OperatorTarget, Record, Settings
from opperf.opperf import main
from opperf.sources.call import UserCall
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.utils.benchmark_utils import run_performance_test
from opperf.worker.client import Worker
from tests.shared_workers import replace_workers, share_arms, sharing

FAKE = Path(__file__).resolve().parents[1] / "fake"
sys.path.insert(0, str(FAKE))

RUNS = 3


@pytest.fixture(scope="session")
def framework() -> Framework:
    return load_for_measuring("mxnet")


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path, monkeypatch):
    """Every test runs in an empty folder, which must be as empty afterwards."""
    monkeypatch.chdir(tmp_path)
    yield
    left = [path.name for path in tmp_path.iterdir() if "profile" in path.name]
    assert left == []


@pytest.fixture
def result() -> Callable[..., dict[str, Any]]:
    """The one result of one call on one set of inputs."""

    def measured(function: Callable[..., Any], inputs: Mapping[str, Any], **options: Any) -> Any:
        options = {"warmup": 1, "runs": RUNS} | options
        (by_name,) = run_performance_test(function, inputs=[inputs], **options)
        ((one,),) = by_name.values()
        return one

    return measured


@pytest.fixture
def record(framework: Framework) -> Callable[..., Record]:
    """The record of one call, with what a result does not show."""

    def measured(
        function: Callable[..., Any],
        inputs: Mapping[str, Any],
        dtype: str = "float32",
        profiler: str = "native",
        warmup: int = 1,
        runs: int = RUNS,
        run_backward: bool = True,
    ) -> Record:
        settings = call_settings(framework, None, dtype, profiler, warmup, runs)
        call = UserCall(framework, function, [inputs], settings, run_backward)
        (case,) = call.cases()
        here = InProcess({framework.name: framework}, {case.id: call.bound})
        return here.measure(case)

    return measured


@pytest.fixture
def cases(framework: Framework) -> Callable[..., tuple[Case, ...]]:
    """The cases that the rules make for an operator."""

    def planned(name: str, size: str = "small", **settings: Any) -> tuple[Case, ...]:
        return plan(
            framework,
            Selection(
                patterns=(name,), size=size, settings=Settings(warmup=0, runs=RUNS, **settings)
            ),
        ).cases

    return planned


@pytest.fixture
def outputs(framework: Framework) -> Callable[[Case], list[np.ndarray]]:
    """What a case's call gives, as NumPy arrays."""

    def called(case: Case) -> list[np.ndarray]:
        assert isinstance(case.target, OperatorTarget)
        with framework.scope(case):
            given = PreparedCase(case, framework).call()
            framework.synchronize(case.settings.device)
        return [one.asnumpy() for one in (given if isinstance(given, (list, tuple)) else [given])]

    return called


ROOT = Path(__file__).resolve().parents[2]

MODULE = (sys.executable, "-m", "opperf")


FOLDERS = ("OPPERF_CACHE", "XDG_CACHE_HOME", "OPPERF_DATA", "XDG_DATA_HOME")
"""Variables that name the folders of the cache and of the data, which are in the home here."""

CHOICE = re.compile(r"\Aframework: mxnet \S+, the first installed of .*\n")
"""What a command says first, on standard error, where no framework is named."""


class CommandLine:
    """opperf as a user starts it, in a working directory and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "work", folder / "home"
        self.folder.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.variables = os.environ | {"HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        for name in FOLDERS:
            self.variables.pop(name, None)

    def start(self, *arguments: str, program: tuple[str, ...] = MODULE) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*program, *arguments],
            cwd=self.folder,
            env=self.variables,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A shell starts what is in the background with SIGINT ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def __call__(
        self, *arguments: str, code: int = 0, program: tuple[str, ...] = MODULE
    ) -> tuple[str, str]:
        """What it prints on standard output and on standard error, but for the framework that it
        chose, if it ends with `code`."""
        with self.start(*arguments, program=program) as process:
            out, err = process.communicate(timeout=300)
        assert process.returncode == code, f"exit {process.returncode}\n{out}\n{err}"
        return out, CHOICE.sub("", err)

    def files(self) -> list[str]:
        """What is in the working directory."""
        return sorted(path.name for path in self.folder.iterdir())

    def unfinished(self) -> list[Path]:
        """Run files of runs that were cut short, in the home's cache."""
        return sorted(self.home.rglob("unfinished/*.jsonl"))

    def kept(self) -> list[Path]:
        """Run files of the runs that are kept, the oldest first."""
        return sorted(self.home.rglob("runs/*.jsonl"))


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture(scope="module")
def module_command(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """For what several tests of a module read and none changes."""
    return CommandLine(tmp_path_factory.mktemp("module"))


@pytest.fixture(scope="session")
def shared_worker() -> Iterator[Callable[..., Worker]]:
    """In place of `Worker`, for all tests."""
    with sharing() as given:
        yield given


@pytest.fixture(scope="module")
def module_worker() -> Iterator[Callable[..., Worker]]:
    """In place of `Worker`, for the tests of a module whose own code it imports."""
    with sharing() as given:
        yield given


class CommandHere(CommandLine):
    """The command line in this process, with workers that commands share: what is printed, refused
    and written is the same, and most of the time it takes is saved."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        super().__init__(folder)
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def __call__(self, *arguments: str, code: int = 0, **_: Any) -> tuple[str, str]:
        self._monkeypatch.chdir(self.folder)
        for name in ("HOME", *FOLDERS):
            if name in self.variables:
                self._monkeypatch.setenv(name, self.variables[name])
            else:
                self._monkeypatch.delenv(name, raising=False)
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = self._capsys.readouterr()
        assert ended.value.code == code, f"exit {ended.value.code}\n{out}\n{err}"
        return out, CHOICE.sub("", err)


@pytest.fixture
def plan_arms(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Worker]], None]:
    """Has `ab` plan its arms with these workers; not for sessions, whose processes are all new."""
    return partial(share_arms, monkeypatch)


@pytest.fixture
def command_here(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    shared_worker: Callable[..., Worker],
) -> CommandHere:
    return CommandHere(tmp_path, capsys, replace_workers(monkeypatch, shared_worker))


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all tests of a module."""
    return tmp_path_factory.mktemp("module")


@pytest.fixture
def module_command_here(
    module_folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module_worker: Callable[..., Worker],
) -> CommandHere:
    """In one folder and with the same workers for all tests of a module, whose own code these may
    import."""
    return CommandHere(module_folder, capsys, replace_workers(monkeypatch, module_worker))
