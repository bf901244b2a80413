"""Output files: their formats, checks before a run, and atomic writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.errors import OutputError, UsageError, suggest
from opperf.model import Run, Status
from opperf.results.csv_file import csv_text
from opperf.results.instruction_counts import instruction_counts_text
from opperf.results.markdown import markdown_text
from opperf.results.messages import tell
from opperf.results.opperf_json import ids_by_operator, json_text
from opperf.results.param_lines import param_text
from opperf.results.result_keys import meanings
from opperf.results.runfile import encode_line, lines_of
from opperf.results.unwritable import reason, unwritable

STDOUT = Path("-")
"""Name of standard output among the paths of outputs."""


def display_path(path: Path) -> str:
    """Returns the name of an output in messages."""
    return "standard output" if path == STDOUT else str(path)


class Output(NamedTuple):
    """A file to write, or standard output, and its format."""

    path: Path
    format: str


def outputs_from(options: Mapping[str, Any]) -> tuple[Output, ...]:
    """Returns the outputs of a command that takes several."""
    return tuple(map(Output, options["output_files"], options["output_formats"]))


@dataclass(frozen=True)
class Format:
    """A format of the output file."""

    extension: str
    text: Callable[[Run, Sequence[str]], str]
    """Returns the content; the names are of the columns of a table."""
    environment: Callable[[Run, Path], dict[str, Any]] | None = None
    """Content of the sidecar, if the format has no place for the environment."""


def runfile_text(run: Run) -> str:
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


FORMATS = {
    "json": Format("json", lambda run, _: json_text(run), environment_and_unmeasured),
    "md": Format("md", markdown_text),
    "csv": Format("csv", lambda run, _: csv_text(run), environment_of),
    "jsonl": Format("jsonl", lambda run, _: runfile_text(run)),
    "param": Format("json", lambda run, _: param_text(run)),
    "instruction-counts": Format("json", lambda run, _: instruction_counts_text(run)),
}


def sidecar(path: Path) -> Path:
    """Returns the path of the file with the environment, beside an output file."""
    return path.with_name(f"{path.stem}.environment.json")


def check_output(path: Path, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Raises `OutputError` if the file could not be written after the run, or is one of the
    inputs."""
    if path == STDOUT:
        return
    if path.exists() and any(one.exists() and path.samefile(one) for one in inputs):
        raise OutputError(f"{path} is an input, and would be overwritten; choose another output")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file in it with --output-file")
    if os.path.lexists(path):
        _check_existing(path, overwrite)
    folder = _target(path).parent
    if not folder.is_dir():
        what = "is not a folder" if os.path.lexists(folder) else "does not exist"
        raise OutputError(f"{path} cannot be written: the folder {folder} {what}")
    try:
        # Permission bits are misleading for root, a read-only mount or /proc.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: cannot create a file in {folder}: {reason(error)}"
        ) from error


def _check_existing(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file; choose another with --output-file")
    if not overwrite:
        resume = ", or --resume to finish it" if path.suffix == ".jsonl" else ""
        raise OutputError(f"{path} exists; add --overwrite to replace it{resume}")
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"{path} is write-protected; choose another with --output-file")


def _target(path: Path) -> Path:
    """Returns the file itself: of a symbolic link, its target is replaced."""
    return Path(os.path.realpath(path))


def write(run: Run, path: Path, format: str, columns: Sequence[str] = ()) -> None:
    """Writes the run, and a sidecar if the format has one: both or, with an `OutputError`, neither.
    Standard output has no sidecar. `columns` are the names of those of a table.

    Raises `UsageError` for an unknown format.
    """
    if format not in FORMATS:
        raise UsageError(
            f"unknown output format {format!r}{suggest(format, FORMATS)}; "
            f"known: {', '.join(FORMATS)}"
        )
    chosen = FORMATS[format]
    if path == STDOUT:
        print(chosen.text(run, columns), end="")
        return
    files = {}
    if chosen.environment is not None:
        beside = msgspec.json.encode(chosen.environment(run, path))
        files[sidecar(path)] = msgspec.json.format(beside, indent=4) + b"\n"
    replace_all({**files, path: chosen.text(run, columns).encode()})


def write_report(path: Path, text: str) -> None:
    """Writes a report to a file and names it on standard error, or prints the report to standard
    output. Raises `OutputError`."""
    if path == STDOUT:
        print(text, end="")
    else:
        replace(path, text.encode())
        tell(f"written to {path}")


def replace(path: Path, data: bytes) -> None:
    """Replaces a file in one step, so that no reader sees half of it. Raises `OutputError`."""
    replace_all({path: data})


def replace_all(files: Mapping[Path, bytes]) -> None:
    """Replaces files, each in one step, once all of them are on the disk: a full disk leaves all
    files as they were. Raises `OutputError`."""
    with ExitStack() as leftovers:
        ready = []
        for path, data in files.items():
            target = _target(path)
            temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
            ready.append((path, temporary, target))
            try:
                # A killed process with the same id may have left one.
                temporary.unlink(missing_ok=True)
                with temporary.open("xb") as file:
                    leftovers.callback(temporary.unlink, missing_ok=True)
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise unwritable(path, error) from error
        for path, temporary, target in ready:
            try:
                temporary.replace(target)
            except OSError as error:
                raise unwritable(path, error) from error
