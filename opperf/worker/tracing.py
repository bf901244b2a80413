"""Traces of cases, each called once, forward and backward."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opperf.errors import NoGradientError, one_line
from opperf.frameworks import Framework
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.times import BACKWARD
from opperf.model import Case


def trace(
    framework: Framework, cases: Iterable[Case], chrome: Path | None, execution: Path | None
) -> dict[str, str]:
    """Writes the framework's traces of the cases to these files, and returns those that could not
    be called, by id, with the reason. The label of a case is `[param|<id in its file>]`.

    Raises `UnsupportedError` if the framework writes none.
    """
    failed: dict[str, str] = {}
    with framework.tracing(chrome, execution) as label:
        for case in cases:
            name = f"[param|{case.source_id or case.id}]"
            try:
                with case_scope(case, framework), label(name):
                    _call(framework, case)
            except Exception as error:
                failed[case.id] = one_line(f"{type(error).__name__}: {error}")
    return failed


def _call(framework: Framework, case: Case) -> None:
    prepared = PreparedCase(case, framework)
    prepared.call()
    if BACKWARD.name in case.passes:
        try:
            gradient = framework.gradient(case, prepared.call, prepared.differentiated)
        except NoGradientError:
            return
        gradient.record()
        gradient.backward()
    framework.synchronize(case.settings.device)
