"""The forms of other tools that a history reads and writes, and which of them a file is of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from opperf.errors import RunFileError, unknown
from opperf.formats import (
    bencher,
    github_action,
    hyperfine,
    instruction_counts,
    operator_benchmark,
    perfetto,
    pytest_benchmark,
    pytorch_records,
)
from opperf.formats.asv import reading as asv
from opperf.formats.asv import writing as asv_writing
from opperf.formats.documents import parse, read_bytes
from opperf.formats.exporting import Export, Written
from opperf.formats.figures import Given, Intake
from opperf.formats.milabench import database
from opperf.formats.milabench import reading as milabench
from opperf.plurals import pluralize
from opperf.results.runfile import is_run_file


class Form(NamedTuple):
    """A form of results: how it is read and written, and recognised by its content."""

    read: Callable[[Path, Given], Intake]
    write: Callable[[Export], Written] | None = None
    """None for what a history does not keep: streams of programs, and samples of several metrics
    together; `opperf export` writes them of a run."""
    lost: tuple[str, ...] = ()
    """Facts that are not read again, as the format has no place for them."""
    path: Callable[[Path], bool] | None = None
    """Whether a folder, or a file that is no JSON, is of it."""
    text: Callable[[bytes], bool] | None = None
    value: Callable[[Any], bool] | None = None
    """Whether a value of JSON is of it."""
    is_folder: bool = False


def _form(module: ModuleType) -> Form:
    path, text, value = (
        getattr(module, f"recognise_{what}", None) for what in ("path", "text", "value")
    )
    return Form(module.read, module.write, module.LOST, path, text, value)


FORMS = {
    "asv": Form(
        asv.read,
        asv_writing.write,
        asv_writing.LOST,
        asv.recognise_path,
        value=asv.recognise_value,
        is_folder=True,
    ),
    "pytest-benchmark": _form(pytest_benchmark),
    "github-action-benchmark": _form(github_action),
    "pytorch": _form(pytorch_records),
    "operator-benchmark": _form(operator_benchmark),
    "milabench": Form(milabench.read, path=milabench.recognise_path),
    "milabench-database": Form(database.read, path=database.recognise_path),
    "instruction-counts": Form(
        instruction_counts.read,
        lost=instruction_counts.LOST,
        value=instruction_counts.recognise_value,
    ),
    "hyperfine": _form(hyperfine),
    "perfetto": _form(perfetto),
    "bencher": _form(bencher),
}
"""By name, those with few marks of their own last."""

WRITTEN = tuple(name for name, form in FORMS.items() if form.write is not None)


def read_results(path: Path, name: str, given: Given) -> Intake:
    """Returns the runs of a file or folder, in the form of that name, else in that which its
    content has. Raises `RunFileError`, and `UsageError` for a form that is not known."""
    if not path.exists():
        raise RunFileError(f"{path} is not there")
    if name and name not in FORMS:
        raise unknown("form", name, FORMS)
    form = FORMS[name] if name else _recognise(path)
    intake = form.read(path, given)
    empty = sum(not submission.entries for submission in intake.submissions)
    if empty == len(intake.submissions):
        raise RunFileError(f"{path} has no figure; there is nothing to import")
    # As of a commit that could not be built: a check says that series are missing.
    said = (f"{path}: {pluralize(empty, 'run')} without any result",) if empty else ()
    return Intake(intake.submissions, (*intake.warnings, *said))


def _recognise(path: Path) -> Form:
    for form in FORMS.values():
        if form.path is not None and form.path(path):
            return form
    if path.is_dir():
        raise _none(path, "has no results in a form that is known")
    if is_run_file(path):
        raise RunFileError(f"{path} is a run of opperf: opperf history add {path}")
    text = read_bytes(path)
    for form in FORMS.values():
        if form.text is not None and form.text(text):
            return form
    value = _first_value(text, path)
    for form in FORMS.values():
        if form.value is not None and form.value(value):
            return form
    raise _none(path, "is in no form that is known")


def _first_value(text: bytes, path: Path) -> Any:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        return parse(text, path)
    try:
        return parse(lines[0] if lines else text, path)
    except RunFileError:
        # It is a line of one value, which has several.
        return parse(text, path)


def _none(path: Path, what: str) -> RunFileError:
    return RunFileError(f"{path} {what}: {', '.join(FORMS)}; name its form with --from")
