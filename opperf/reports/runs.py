"""Writes runs to files and to a terminal, with what a format has no place for in a file beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from opperf.model import Run, Status
from opperf.reports.formats import RUN, format_named, function_of
from opperf.results.opperf_json import ids_by_operator
from opperf.results.output import STDOUT, replace_all, sidecar
from opperf.results.result_keys import meanings
from opperf.results.runfile import encode_line, lines_of


def write(run: Run, path: Path, format: str, columns: Sequence[str] = ()) -> list[str]:
    """Writes the run, and a sidecar if the format has one: both or, with an `OutputError`, neither.
    Standard output has no sidecar. `columns` are the names of those of a table. Returns what the
    format has no place for, a line each.

    Raises `UsageError` for an unknown format.
    """
    chosen = format_named(format, RUN)
    text, missing = chosen.write_run(run, columns)
    if path == STDOUT:
        print(text, end="")
        return missing
    files = {}
    if chosen.environment is not None:
        beside = msgspec.json.encode(function_of(chosen.environment)(run, path))
        files[sidecar(path)] = msgspec.json.format(beside, indent=4) + b"\n"
    replace_all({**files, path: text.encode()})
    return missing


def runfile_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the run as a run file, for an output that is not the run file itself."""
    return b"".join(map(encode_line, lines_of(run))).decode()


def environment_of(run: Run, path: Path) -> dict[str, Any]:
    """Returns the header and environments of a run, for the sidecar of `path`."""
    header = run.header
    environment, *others = map(msgspec.to_builtins, run.environments.values())
    return {
        "output": path.name,
        "started": header.started,
        "environment": environment,
        **({"other_environments": others} if others else {}),
        **({"labels": header.labels} if header.labels else {}),
        "options": header.options,
        "excluded": header.excluded,
    }


def environment_and_unmeasured(run: Run, path: Path) -> dict[str, Any]:
    """Returns the same, the ids of the results, what their keys mean, and the records without
    results, which the output excludes."""
    unmeasured = [
        {
            "operator": record.case.label,
            "id": record.id,
            "status": record.status.value,
            "reason": record.reason,
        }
        for record in run.records
        if record.status is not Status.OK
    ]
    return environment_of(run, path) | {
        "ids": ids_by_operator(run.records),
        "figures": meanings(run.records),
        "not_measured": unmeasured,
    }
