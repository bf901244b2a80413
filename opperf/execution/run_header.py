"""The header of a run file, and where the file lies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import OutputError, RunFileError
from opperf.folders import FOLDER, unfinished_folder
from opperf.model import SCHEMA_VERSION, Header, Interpreter, Run, Wrapping
from opperf.model.runs import AXES, SELECTION
from opperf.results.kept import new_id
from opperf.results.output import STDOUT, reason
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes


def utc_now() -> str:
    """Returns the current time in ISO 8601, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def make_header(
    plan: Plan,
    selection: Selection,
    command: str,
    axes: Axes | None = None,
    labels: Mapping[str, str] | None = None,
    interpreters: Sequence[Interpreter] = (),
    wrapping: Wrapping | None = None,
    more: Mapping[str, Any] | None = None,
) -> Header:
    """Returns the first line. `command` is empty for a function; `more` are further options."""
    written: dict[str, Any] = {SELECTION: selection, AXES: axes or {}, **(more or {})}
    if command:
        written = {"command": command, **written}
    return Header(
        schema=SCHEMA_VERSION,
        started=utc_now(),
        # As they are read again.
        options=msgspec.json.decode(msgspec.json.encode(written)),
        excluded=plan.excluded,
        labels=dict(labels or {}),
        interpreters=tuple(interpreters),
        id=new_id(),
        program=plan.program,
        wrapping=wrapping,
    )


def read_selection(run: Run) -> tuple[Selection, Axes]:
    """Returns the selection and the axes of a run file. Raises `RunFileError` if it has none."""
    options = run.header.options
    try:
        return (
            msgspec.convert(options.get(SELECTION), Selection),
            msgspec.convert(options.get(AXES, {}), Axes),
        )
    except msgspec.ValidationError as error:
        raise RunFileError(
            f"the run file has no valid selection: {error}; replace it with --overwrite"
        ) from error


def run_file_path(output: Path, output_format: str) -> Path:
    """Returns the run file of a run with a named output: that itself, or one in the cache."""
    named = output_format == "jsonl" and output != STDOUT
    return output if named else cached_path(output)


def cached_path(output: Path) -> Path:
    """Returns a run file in the cache, named after the output, or the folder for stdout."""
    digest = hashlib.sha256(os.fsencode(output.resolve())).hexdigest()[:12]
    name = "stdout" if output == STDOUT else output.name
    return unfinished_folder() / f"{name}-{digest}.jsonl"


def make_folder(run_file: Path) -> None:
    """Creates the folder of a run file. Raises `OutputError` if that fails."""
    try:
        run_file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{run_file.parent}, the folder of unfinished runs, cannot be created: "
            f"{reason(error)}; set {FOLDER} to another cache folder, or use -f jsonl"
        ) from error
