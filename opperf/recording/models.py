"""Records a function, a layer or a model by calling it, with inputs as `opperf run` makes them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.errors import NoGradientError, UsageError
from opperf.frameworks import Framework, load
from opperf.frameworks.base import Gradient
from opperf.frameworks.user_modules import import_module
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.restoring import FreshInputs
from opperf.instruments.times import BACKWARD
from opperf.model import Case
from opperf.recording.session import Session
from opperf.recording.steps import MARKED, StepRange
from opperf.sources.registry import plan
from opperf.sources.resolving import resolve, resolve_selection
from opperf.sources.selecting import Selection

WARMUP = 1
"""First calls that are neither recorded nor timed: they allocate and compile."""

EAGER = "eager"
"""Mode in which each operator is called by itself."""


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
        with framework.importing():
            import_module(name)
    settings = inputs.selection.settings
    if EAGER in framework.modes:
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
                try:
                    self._gradient = self._prepared.make_gradient()
                except NoGradientError:
                    self._gradient = None
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
