"""Measures two arms in turn: `opperf.ab("relu", b="threads:2")`."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from opperf.api.compare import FileComparison, ReportedComparisons
from opperf.api.functions import framework_of_functions, name_of
from opperf.api.run import (
    EXTENSION,
    NOTHING_CHANGED,
    What,
    from_keywords,
    text_of,
    with_names,
    words_of,
)
from opperf.api.run_result import RunResult
from opperf.errors import UsageError
from opperf.requests.ab.beginning import begin
from opperf.requests.ab.request import AbRequest, ArmsRequest
from opperf.requests.ab.resolving import progress_of, resolve
from opperf.requests.ab.sessions import measured
from opperf.requests.declaring import unsaid
from opperf.requests.judging import judge_session
from opperf.results.messages import tell
from opperf.results.runfile import read_run


@dataclass(frozen=True)
class ArmComparison(ReportedComparisons):
    """The verdicts of a session, which print as the report of `opperf ab`."""

    run: RunResult
    """The records of both arms, each with the samples of all processes."""

    @property
    def valid(self) -> bool:
        """Whether A did not differ from itself."""
        session = self.comparison.session
        return session is None or session.valid


Arm = str | Iterable[str] | Mapping[str, Any]


def ab(
    *what: What,
    a: Arm = (),
    b: Arm = (),
    arms: Mapping[str, Arm] = MappingProxyType({}),
    framework: str | None = None,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    **options: Any,
) -> ArmComparison | FileComparison:
    """Measures A against B, or several arms, interleaved in fresh processes, as `opperf ab` does.

    Parameters
    ----------
    what : str, path or function
        As of `opperf.run`.
    a, b : str, list of str, or dict
        What each arm sets: 'threads:2', a list of such texts, or `{'threads': 2, 'env': {'X': 1},
        'python': PATH, 'ops': ['add', function]}`.
    arms : dict, optional
        Arms by name, up to eight, after `a` and `b` or in their place if neither is given. Each is
        compared with the first, or with `against='all'` with each other.
    framework : str, optional
        As on the command line.
    output : str or path, optional
        The session's file, to which each process is written as it is measured;
        `opperf ab --resume FILE` finishes it, and `opperf.read` reads its records.
    quiet : bool
        False shows the progress, on standard error.
    **options
        Options of `opperf ab`, named as there, with `_` for `-`: `size`, `blocks`, `threshold`,
        `case_time`, `fail_on`. `opperf ab --help` and the page "Python" of the reference have all
        of them, with types, defaults and units.

    Returns
    -------
    ArmComparison or FileComparison
        The latter of counts of instructions (`profiler='instructions'`).

    Raises
    ------
    OpperfError
        For names and values that cannot be used, arms that cannot start, and for a file that
        exists, unless `overwrite` is set, or that cannot be written.
    """
    named = framework or framework_of_functions(
        [*what, *(name for arm in (a, b, *arms.values()) for name in _operators(arm))]
    )
    request = from_keywords(
        AbRequest,
        map(text_of, what),
        with_names({**options, "framework": named, "quiet": quiet}),
        a=tuple(_assignments(a)),
        b=tuple(_assignments(b)),
        arm=tuple(
            f"{name}={text}" for name, arm in arms.items() for text in ("", *_assignments(arm))
        ),
    )
    return _compared(request, output)


def _compared(
    request: AbRequest, output: str | os.PathLike[str] | None
) -> ArmComparison | FileComparison:
    watch = progress_of(request.quiet)
    say = unsaid if request.quiet else tell
    with with_report(request, output) as asked:
        resolved = resolve(asked, say, watch, shlex.join(["opperf", "ab", *words_of(asked)]))
        if resolved is None:
            raise UsageError(NOTHING_CHANGED)
        session, path = measured(resolved, begin), asked.report
        name = "" if output is None else str(path)
        found = judge_session(session, path, asked.fail_on, resolved.limits, asked.weight, name)
        judged = (found.code, found.reason, found.report, found.found)
        if next(iter(found.found.values())).session is None:
            return FileComparison(*judged, ())
        return ArmComparison(*judged, result_of(path))


Asked = TypeVar("Asked", bound=ArmsRequest)


@contextmanager
def with_report(request: Asked, output: str | os.PathLike[str] | None) -> Iterator[Asked]:
    """Yields a request whose session has the file of an output, or without one a temporary file.
    Raises `UsageError` for a name that run files do not have."""
    with ExitStack() as stack:
        if output is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="opperf-"))
            output = Path(folder, f"session{EXTENSION}")
        path = Path(output)
        if path.suffix != EXTENSION:
            raise UsageError(f"{path}: the output is a run file, whose name ends with {EXTENSION}")
        yield msgspec.structs.replace(request, report=path, given=request.given | {"report"})


def result_of(path: Path) -> RunResult:
    """Returns the records of a session's file."""
    run, warnings = read_run(path)
    return RunResult(run, str(path), tuple(warnings))


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _operators(arm: Arm) -> Iterable[Any]:
    return _listed(arm.get("ops", ())) if isinstance(arm, Mapping) else ()


def _text(value: Any) -> str:
    return name_of(value) if callable(value) else str(value)


def _assignments(arm: Arm) -> Iterator[str]:
    if isinstance(arm, str):
        yield arm
    elif isinstance(arm, Mapping):
        for kind, value in arm.items():
            if isinstance(value, Mapping):
                yield from (f"{kind}:{name}={each}" for name, each in value.items())
            else:
                yield f"{kind}:{','.join(map(_text, _listed(value)))}"
    else:
        yield from arm
