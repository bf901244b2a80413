"""Writes the framework's traces of cases."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from opperf.errors import NoGradientError, one_line
from opperf.frameworks import Framework
from opperf.instruments.prepared import NOTHING_BOUND, Bound, PreparedCase, case_scope
from opperf.instruments.times import BACKWARD
from opperf.model import Case, ModelTarget, TraceTarget
from opperf.worker.binding import bound_of


def trace(
    framework: Framework,
    cases: Sequence[Case],
    chrome: Path | None,
    execution: Path | None,
    least_s: float = 0.0,
) -> dict[str, str]:
    """Writes the framework's traces of the cases to these files, and returns those that could not
    be called, by id, with the reason. The label of a case is `[param|<id in its file>]`, that
    of a replay its name. Raises `UnsupportedError` if the framework writes none."""
    failed: dict[str, str] = {}
    # A replay has tried its calls before, which are no part of its iteration.
    replays = {case.id: case for case in cases if isinstance(case.target, TraceTarget)}
    ready: dict[str, Bound] = {}
    for case in replays.values():
        with _failures(case, failed), case_scope(case, framework):
            ready[case.id] = bound_of(case, framework)
    with framework.tracing(chrome, execution) as label:
        for case in cases:
            if case.id in failed:
                continue
            is_replay = case.id in replays
            name = case.label if is_replay else f"[param|{case.source_id or case.id}]"
            with _failures(case, failed), case_scope(case, framework), label(name):
                # A model is built in the scope that it runs in.
                is_model = isinstance(case.target, ModelTarget)
                made = bound_of(case, framework) if is_model else NOTHING_BOUND
                _call(framework, case, ready.get(case.id, made), least_s)
    return failed


@contextlib.contextmanager
def _failures(case: Case, failed: dict[str, str]) -> Iterator[None]:
    """Adds the reason why a case cannot be called."""
    try:
        yield
    except Exception as error:
        failed[case.id] = one_line(f"{type(error).__name__}: {error}")


def _call(framework: Framework, case: Case, bound: Bound, least_s: float) -> None:
    prepared = PreparedCase(case, framework, bound)
    end = time.monotonic() + least_s
    prepared.call()
    while time.monotonic() < end:
        framework.synchronize(case.settings.device)
        prepared.call()
    if BACKWARD.name in case.passes:
        try:
            gradient = prepared.make_gradient()
        except NoGradientError:
            return
        gradient.record()
        gradient.backward()
    framework.synchronize(case.settings.device)
