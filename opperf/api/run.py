"""Measures, and reads what was measured: `opperf.run("relu")`, `opperf.read("@last")`.

`opperf.record`: a recording of a part of a Python program.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from opperf.api.calls import dtype_name
from opperf.api.functions import framework_of_functions, name_of
from opperf.api.run_result import RunResult
from opperf.errors import UsageError, unknown
from opperf.execution.progress import make_progress
from opperf.model import Run
from opperf.recording.session import step
from opperf.recording.steps import StepRange, read_steps
from opperf.requests.declaring import Asked, Declared, Request, build, declared, value_of
from opperf.requests.record import RecordRequest
from opperf.requests.run import RunRequest
from opperf.requests.running import Watch, perform
from opperf.results.kept import display
from opperf.results.run_files import locate
from opperf.results.runfile import read_run

What = str | os.PathLike[str] | Callable[..., Any]
"""Operators by name, functions and files."""


def text_of(word: object) -> str:
    """Returns what names a function, file or operator. Raises `UsageError` for anything else."""
    if callable(word):
        return name_of(word)
    if not isinstance(word, (str, os.PathLike)):
        raise UsageError(f"{word!r} is neither the name of an operator, nor a file, nor a function")
    return os.fspath(word)


def with_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a call, with names of the dtypes and functions in them."""
    found = dict(options)
    if "dtype" in found:
        dtypes = found["dtype"]
        listed = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
        found["dtype"] = [dtype_name(dtype) for dtype in listed]
    if callable(found.get("inputs")):
        found["inputs"] = text_of(found["inputs"])
    return found


def from_keywords(
    kind: type[Asked], arguments: Iterable[Any], keywords: Mapping[str, Any], **own: Any
) -> Asked:
    """Returns the request of a call in Python: the first field has the arguments, keywords are
    named as options, with `_` for `-`; `import_` is that of a name that Python reserves, and None
    is the default. `own` are values of fields, by name. Raises `UsageError`."""
    fields = declared(kind)
    by_keyword = {
        keyword: field
        for name, field in fields.items()
        if name not in kind.no_keywords
        for keyword in field.keywords
    }
    values: dict[str, Any] = {}
    words = tuple(arguments)
    if words:
        first = next(field for field in fields.values() if not field.names)
        values[first.name] = _parsed(first, words)
    for keyword, value in keywords.items():
        name = keyword.removesuffix("_")
        if name not in by_keyword:
            raise unknown("option", keyword, by_keyword)
        if value is not None:
            field = by_keyword[name]
            values[field.name] = _flag(field, value) if field.is_flag else _parsed(field, value)
    return build(kind, {**values, **own})


def _flag(field: Declared, value: Any) -> Any:
    if not isinstance(value, bool):
        raise UsageError(f"{field.keywords[0]} is True or False, not {value!r}")
    return field.flagged(value)


def _parsed(field: Declared, value: Any) -> Any:
    try:
        return field.parse(field.texts(value))
    except ValueError as error:
        raise UsageError(f"{field.keywords[0] if field.names else field.shown}: {error}") from error


def words_of(request: Request) -> list[str]:
    """Returns the words of the command line that make a request."""
    fields = declared(type(request))
    given = [name for name in fields if name in request.given]
    options = [name for name in given if fields[name].names]
    arguments = [name for name in given if not fields[name].names]
    words = [
        [word for name in chosen for word in fields[name].words(value_of(request, name))]
        for chosen in (options, arguments)
    ]
    return [*words[0], *(["--", *words[1]] if words[1] else [])]


LOG = logging.getLogger("opperf")

EXTENSION = ".jsonl"

NOTHING_CHANGED = "nothing is measured: no operator changed since the revision of changed_since"


def run(
    *what: What,
    framework: str | None = None,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    **options: Any,
) -> RunResult:
    """Measures operators in worker processes, as `opperf run` does, and returns the records.

    Parameters
    ----------
    what : str, path or function
        Operators by name or glob, functions, also as 'module:function' and 'file.py:function', and
        files of cases: recordings, configurations, snippets, run files, kept runs as '@last'.
        Without any, all operators, or those of the options `category` and `namespace`. A function
        of a script or of a notebook is handed over as source, with that of what it uses.
    framework : str, optional
        As on the command line: by default that which `what` is of, or uses, or the first installed
        one.
    output : str or path, optional
        A run file, to which each record is written as it is made, so that an interrupted run loses
        at most the case in flight; `opperf run --resume FILE` finishes it.
    quiet : bool
        False shows the progress, on standard error.
    **options
        Options of `opperf run`, named as there, with `_` for `-`: `dtype`, `size`, `warmup`,
        `runs`, `max_time`, `no_backward`, `shape={'data': (64, 64)}`, `arg={'axis': 1}`. Lists
        give a case for every combination, as the values between commas do; True sets a flag.
        `opperf run --help` and the page "Python" of the reference have all of them, with types,
        defaults and units.

    Returns
    -------
    RunResult
        A record for each case; one that could not be measured has a status and a reason.

    Raises
    ------
    OpperfError
        For names and values that cannot be used, and for a file that exists, unless `overwrite` is
        set, or that cannot be written.
    """
    given = {**options, "framework": framework or framework_of_functions(what), "quiet": quiet}
    request = from_keywords(RunRequest, map(text_of, what), with_names(given))
    if output is None:
        with tempfile.TemporaryDirectory(prefix="opperf-") as folder:
            run_ = _measured(request, Path(folder, f"run{EXTENSION}"))
        return RunResult(run_, run_.header.id)
    path = Path(output)
    if path.suffix != EXTENSION:
        raise UsageError(
            f"{path}: the output is a run file, whose name ends with {EXTENSION}; save() of the "
            "result writes other formats"
        )
    return RunResult(_measured(request, path), str(path))


def _measured(request: RunRequest, path: Path) -> Run:
    say = LOG.info
    progress = partial(make_progress, sys.stderr, quiet=request.resumption.quiet)
    command = shlex.join(["opperf", "run", *words_of(request)])
    request = msgspec.structs.replace(request, output_file=path)
    resolved = request.resolve(say, command)
    if resolved is None:
        raise UsageError(NOTHING_CHANGED)
    ended = perform(resolved, Watch(say, say, say, progress), keeps=False)
    return ended.run or read_run(path)[0]


def read(path: str | os.PathLike[str]) -> RunResult:
    """Returns the content of a run file, or of a kept run as '@last', '@-2' and '@ID'; of a JSON,
    Markdown or CSV file that of the run which wrote it, if that is kept. Raises `OpperfError` for a
    file that is none, or is damaged."""
    file = locate(os.fspath(path))
    content, warnings = read_run(file)
    return RunResult(content, display(file), tuple(warnings))


__all__ = ["record", "step"]


def record(
    file: str | os.PathLike[str],
    *,
    timed: bool = False,
    steps: str | range | None = None,
    execution_trace: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> AbstractContextManager[None]:
    """Records the calls of operators inside the context, those of PyTorch, MXNet and JAX, as
    `opperf record` does those of a program.

    Parameters
    ----------
    file : str or path
        The recording, a run file ('model.jsonl'), which `opperf.run` and `opperf.read` take. It is
        written at the end, after an exception too.
    timed : bool
        Whether to keep the time of each call, for which a GPU is waited for.
    steps : str or range, optional
        The steps to record, counted from 0: '10:20' are those from 10 up to 19. A step ends with
        the step of the first optimizer, or at `opperf.step()`. By default all is recorded.
    execution_trace : str or path, optional
        A file for PyTorch's execution trace of what is recorded.
    overwrite : bool
        Whether to replace the files if they exist.

    Raises
    ------
    OpperfError
        At the beginning for a file that exists or cannot be written, and where a recording is being
        made already; at the end if there was no call to record.
    """
    request = RecordRequest(
        output_file=Path(file),
        timed=timed,
        steps=_range_of(steps),
        trace=None if execution_trace is None else Path(execution_trace),
        overwrite=overwrite,
    )
    return request.recorded(" ".join(sys.argv) or "python")


def _range_of(steps: str | range | None) -> StepRange | None:
    """Returns the range of steps. Raises `UsageError` for one with gaps."""
    if isinstance(steps, range):
        if steps.step != 1:
            raise UsageError(f"{steps} leaves steps out; record those from one to another")
        return read_steps(f"{steps.start}:{steps.stop}")
    return None if steps is None else read_steps(steps)
