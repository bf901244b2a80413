"""Records a function, a layer or a model by calling it, with inputs as `opperf run` makes them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from opperf.errors import NoGradientError, UsageError
from opperf.frameworks import Framework, load
from opperf.frameworks.user_modules import import_module
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.times import BACKWARD
from opperf.model import Case
from opperf.recording.session import Session
from opperf.recording.steps import MARKED, StepRange
from opperf.sources.registry import plan, resolve, resolve_selection
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
    several cases all in a step. Raises what the calls raise."""
    listed = [_prepared(framework, case) for case in cases]
    for _ in range(calls):
        session.steps.mark()
        for once in listed:
            once()
        session.steps.end(MARKED)


def _prepared(framework: Framework, case: Case) -> Callable[[], None]:
    """Returns a function that makes a case's call, and its backward pass."""
    with case_scope(case, framework):
        prepared = PreparedCase(case, framework)
        gradient = None
        if BACKWARD.name in case.passes:
            try:
                gradient = prepared.make_gradient()
            except NoGradientError:
                gradient = None

    def once() -> None:
        with case_scope(case, framework):
            if gradient is None:
                prepared.call()
            else:
                gradient.record()
                gradient.backward()
            framework.synchronize(case.settings.device)

    return once
