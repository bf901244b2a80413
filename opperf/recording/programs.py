"""Runs what is recorded in this process: a script or module, as Python runs it, and says how it
ended; a function, a layer or a model, with inputs as `opperf run` makes them."""

from __future__ import annotations

import functools
import importlib.util
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import msgspec

from opperf.errors import INTERRUPTED, TERMINATED, NoGradientError, UsageError, one_line
from opperf.frameworks import Framework, load
from opperf.frameworks.base import Gradient
from opperf.frameworks.user_modules import import_module
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.restoring import FreshInputs
from opperf.instruments.times import BACKWARD
from opperf.model import EAGER, Case
from opperf.recording.session import Session
from opperf.recording.steps import MARKED, StepRange
from opperf.sources.registry import plan
from opperf.sources.resolving import resolve, resolve_selection
from opperf.sources.selecting import Selection
from opperf.terminating import ends_at_once

FAILED = 1
"""Exit code of Python after an exception."""


class Outcome(NamedTuple):
    """How a program ended."""

    code: int
    """Its exit code."""
    why: str = ""
    """The event that ended it early, in a clause; empty if it ran to its end."""


class Script(NamedTuple):
    """A script, or a module that is run as one, with its arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False

    @property
    def command(self) -> str:
        """The words that Python runs it with."""
        return " ".join((*(("-m",) if self.is_module else ()), self.name, *self.arguments))

    def check(self) -> None:
        """Raises `UsageError` if there is no such script or module."""
        if not self.is_module:
            if not Path(self.name).is_file():
                is_module = not self.name.endswith(".py") and (
                    all(map(str.isidentifier, self.name.split(".")))
                )
                advice = f"; for a module, write -m {self.name}" if is_module else ""
                raise UsageError(f"{self.name}: no such script{advice}")
            return
        with _as_main(self):
            try:
                found = importlib.util.find_spec(self.name)
            except (ImportError, ValueError):
                found = None
        if found is None:
            advice = "; for a script, omit -m" if self.name.endswith(".py") else ""
            raise UsageError(f"{self.name}: no such module{advice}")

    def run(self, at_exit: Callable[[], None] = lambda: None) -> Outcome:
        """Runs it to its end. `at_exit` is called if it ends the process at once, by `os._exit`.
        The traceback of an error is printed, as Python does."""
        with _as_main(self), _catching_ends(at_exit):
            try:
                if self.is_module:
                    runpy.run_module(self.name, run_name="__main__", alter_sys=True)
                else:
                    runpy.run_path(self.name, run_name="__main__")
            except SystemExit as end:
                return _exit(end)
            except KeyboardInterrupt:
                return Outcome(INTERRUPTED, "was interrupted")
            except BaseException as error:
                _print_traceback(error)
                reason = one_line(f"{type(error).__name__}: {error}").removesuffix(": ")
                return Outcome(FAILED, f"raised {reason}")
        return Outcome(0)


def _exit(end: SystemExit) -> Outcome:
    code = end.code
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = FAILED
    if code == TERMINATED:
        return Outcome(code, "was terminated")
    return Outcome(code or 0, f"ended with exit code {code}" if code else "")


@contextmanager
def _as_main(script: Script) -> Iterator[None]:
    """Has arguments and folder where a program looks for them; afterwards all as it was."""
    arguments, path, before = sys.argv, list(sys.path), Path.cwd()
    sys.argv = [script.name, *script.arguments]
    folder = str(Path.cwd() if script.is_module else Path(script.name).resolve().parent)
    sys.path[:1] = [folder]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = arguments, path
        # It may be there no longer.
        with suppress(OSError):
            os.chdir(before)


@contextmanager
def _catching_ends(at_exit: Callable[[], None]) -> Iterator[None]:
    """Has what ends the process at once, a signal or `os._exit`, end the program first."""
    leave = os._exit

    def exit_at_once(code: int) -> None:
        at_exit()
        leave(code)

    def terminate(number: int, frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    before, is_ours = signal.getsignal(signal.SIGTERM), ends_at_once()
    os._exit = exit_at_once  # type: ignore[assignment]
    if is_ours:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        os._exit = leave
        if is_ours:
            signal.signal(signal.SIGTERM, before)


def _print_traceback(error: BaseException) -> None:
    """Without the frames of opperf and `runpy` above the program."""
    trace = error.__traceback__
    while trace is not None and _is_above(trace.tb_frame):
        trace = trace.tb_next
    # None of a script that is no Python, and has therefore no frame.
    traceback.print_exception(type(error), error, trace)


def _is_above(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in (__name__, "runpy") or (
        frame.f_code.co_filename == "<frozen runpy>"
    )


WARMUP = 1
"""First calls that are neither recorded nor timed: they allocate and compile."""


class Inputs(NamedTuple):
    """A callable by its path, with its inputs."""

    framework: str
    selection: Selection
    """With the path as its only pattern."""
    runs: int
    """Calls that are recorded, after as many that are only timed."""

    @property
    def wanted(self) -> StepRange:
        """The calls that are recorded."""
        return StepRange(WARMUP + self.runs, WARMUP + 2 * self.runs)


def cases_of(inputs: Inputs) -> tuple[Framework, tuple[Case, ...]]:
    """Returns the framework, loaded, and the callable's case for each configuration of its inputs.

    Raises `UsageError` for inputs that make no case, and the errors of the framework's `load`.
    """
    framework = load(inputs.framework)
    for name in inputs.selection.settings.imports:
        with framework.naming.importing():
            import_module(name)
    settings = inputs.selection.settings
    if EAGER in framework.modes.names:
        settings = msgspec.structs.replace(settings, mode=EAGER)
    selection = msgspec.structs.replace(inputs.selection, settings=settings)
    selection = resolve_selection(selection, functools.partial(resolve, framework))
    planned = plan(framework, selection)
    if not planned.cases:
        name, reason = next(iter(planned.excluded.items()), (selection.patterns[0], "no inputs"))
        raise UsageError(f"{name}: {reason}")
    return framework, planned.cases


def call(framework: Framework, cases: Iterable[Case], session: Session, calls: int) -> None:
    """Makes each case's call this often, with its backward pass if it has one, as a step each; of
    several cases all in a step. Each step has the inputs, and what a layer keeps, as at first.
    Raises what the calls raise."""
    listed = [PreparedCall(framework, case) for case in cases]
    for _ in range(calls):
        session.steps.mark()
        for prepared in listed:
            prepared.make()
        session.steps.end(MARKED)
        with session.interrupted():
            for prepared in listed:
                prepared.begin_again()


class PreparedCall:
    """A case's call, and its backward pass."""

    def __init__(self, framework: Framework, case: Case) -> None:
        self._framework, self._case = framework, case
        with case_scope(case, framework):
            self._prepared = PreparedCase(case, framework)
            self._fresh = FreshInputs(self._prepared)
            self._gradient: Gradient | None = None
            if BACKWARD.name in case.passes:
                with suppress(NoGradientError):
                    self._gradient = self._prepared.make_gradient()
                self._fresh.begin()

    def make(self) -> None:
        with case_scope(self._case, self._framework):
            if self._gradient is None:
                self._prepared.call()
            else:
                self._gradient.record()
                self._gradient.backward()
            self._framework.synchronize(self._case.settings.device)

    def begin_again(self) -> None:
        """Restores what the call has written to."""
        with case_scope(self._case, self._framework):
            self._fresh.begin()
