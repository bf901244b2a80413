"""The file of a recording: what is checked before it, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from opperf.errors import OutputError, UsageError
from opperf.model import CompiledProgram
from opperf.plurals import pluralize
from opperf.recording.session import Session
from opperf.recording.writing import write
from opperf.results.output import check_output

EXTENSION = ".jsonl"
"""That of run files."""


def check_files(file: Path, trace: Path | None, overwrite: bool) -> None:
    """Raises `UsageError` for a recording that is no run file by its name, and `OutputError` for a
    file that exists, unless it may be replaced, or that cannot be written."""
    if file.suffix != EXTENSION:
        raise UsageError(
            f"{file}: a recording is a run file, whose name ends with {EXTENSION}; `opperf export` "
            "writes other formats"
        )
    if trace is not None and trace.resolve() == file.resolve():
        raise UsageError(f"{trace}: the execution trace needs a file other than the recording's")
    for output in filter(None, (file, trace)):
        if output.is_file() and not overwrite:
            raise OutputError(f"{output} exists; add --overwrite to replace it, or choose another")
        check_output(output, overwrite)


def written(session: Session, file: Path, overwrite: bool) -> tuple[str, ...]:
    """Writes what a session has recorded, and returns lines about it: how many calls there are, and
    what a reader must know. Raises the errors of `write`."""
    recorded = session.recorded()
    cases, notes = write(recorded, file, overwrite)
    made = session.steps.recorded
    steps = f" in {pluralize(made, 'step')}" if made else ""
    return (
        f"{file}: {pluralize(recorded.number, 'call')}{steps}, {len(cases):,} of them distinct; "
        f"measure them with: opperf run {file}",
        *_compiled(recorded.program.compiled),
        *(f"note: {note}" for note in notes),
    )


def _compiled(programs: Sequence[CompiledProgram]) -> Iterator[str]:
    """Yields how often compiled programs ran, if there are any."""
    if programs:
        times = [found.time_ns for found in programs if found.time_ns is not None]
        took = f", for {sum(times) / 1e6:,.1f} ms in all" if times else ""
        yield (
            f"{pluralize(len(programs), 'compiled program')} ran "
            f"{pluralize(sum(found.runs for found in programs), 'time')}{took}; `opperf report` "
            "has each by its name"
        )
