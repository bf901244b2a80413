"""Writes the calls of traces in the forms that `opperf run` measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.errors import UsageError
from opperf.execution.planning import complete_cases
from opperf.execution.run_header import utc_now
from opperf.execution.workers import Workers
from opperf.frameworks import is_available
from opperf.model import SCHEMA_VERSION, Case, Fill, Header, OperatorTarget, Settings, map_tensors
from opperf.plurals import pluralize
from opperf.results.kept import new_id
from opperf.results.output import replace
from opperf.results.recordings import write_recording
from opperf.sources.logged_text import Written, log_text
from opperf.sources.param.files import configuration_text
from opperf.sources.traces import TraceSource
from opperf.traces.trace import FRAMEWORK
from opperf.traces.values import parse_schema

Say = Callable[[str], None]
"""Is given a line for the user."""

Amount = tuple[int, int]
"""Numbers of the cases and of the calls that were written."""


def write_calls(
    paths: Sequence[Path], rank: int | None, file: Path, overwrite: bool, say: Say
) -> Amount:
    """Writes the calls of traces, or of the trace of a rank, in the form of a file's extension, and
    says what that lacks. Raises `UsageError` for what is no trace or cannot be written, and
    `OutputError`."""
    source = TraceSource(paths, rank)
    for remark in source.remarks:
        say(f"note: {remark}")
    cases = list(source.cases())
    if not cases:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(source.excluded.items())[:1])
        raise UsageError(f"no call can be written, {reasons}")
    return WRITERS[file.suffix](source, cases, file, overwrite, say)


def _complete(source: TraceSource, cases: Sequence[Case], say: Say) -> list[Case]:
    if not is_available(FRAMEWORK):
        say(f"note: {FRAMEWORK} is not installed; the calls are written as the trace has them")
        return list(cases)
    with Workers() as workers:
        return complete_cases(workers.of(FRAMEWORK, Settings()), source, cases)


def _write_recording(
    source: TraceSource, cases: Sequence[Case], file: Path, overwrite: bool, say: Say
) -> Amount:
    made = _complete(source, cases, say)
    program = msgspec.structs.replace(source.program, calls=sum(case.count for case in made))
    header = Header(
        schema=SCHEMA_VERSION,
        started=utc_now(),
        options={"command": f"opperf trace {program.command} --to {file}"},
        excluded=source.excluded,
        id=new_id(),
        program=program,
    )
    write_recording(file, header, made, overwrite)
    return len(made), program.calls


def _with_overloads(source: TraceSource, cases: Sequence[Case], say: Say) -> list[Case]:
    unknown = [case for case in cases if not _overload_of(case)]
    if not unknown:
        return list(cases)
    found = [
        msgspec.structs.replace(
            case,
            target=_dispatched(case),
            arguments={
                # Without the contents that suit its operator, as any reader adds them.
                name: map_tensors(value, lambda spec: msgspec.structs.replace(spec, fill=Fill()))
                for name, value in case.arguments.items()
            },
        )
        for case in _complete(source, unknown, say)
    ]
    return [*(case for case in cases if _overload_of(case)), *found]


def _overload_of(case: Case) -> str:
    return case.target.overload if isinstance(case.target, OperatorTarget) else ""


def _dispatched(case: Case) -> OperatorTarget:
    """Returns an operator by the name that traces have: `aten.mm`."""
    target = case.target
    assert isinstance(target, OperatorTarget)
    name = target.name
    if "::" in name:
        name = name.replace("::", ".")
    elif not name.startswith("aten."):
        name = f"aten.{name}"
    return OperatorTarget(target.framework, name, target.overload)


def _write_log(
    source: TraceSource, cases: Sequence[Case], file: Path, overwrite: bool, say: Say
) -> Amount:
    keywords = {
        key: {parameter.name for parameter in schema.parameters if parameter.keyword_only}
        for key, text in source.schemas.items()
        if (schema := parse_schema(text)) is not None
    }
    return _write_text(log_text(_with_overloads(source, cases, say), keywords), file, say)


def _write_configuration(
    source: TraceSource, cases: Sequence[Case], file: Path, overwrite: bool, say: Say
) -> Amount:
    return _write_text(
        configuration_text(_with_overloads(source, cases, say), source.schemas), file, say
    )


def _write_text(written: Written, file: Path, say: Say) -> Amount:
    if not written.cases:
        raise UsageError(f"{file}: no call can be written, {', '.join(written.omitted)}")
    replace(file, written.text.encode())
    for reason, count in written.omitted.items():
        say(f"warning: {pluralize(count, 'call')} omitted: {reason}")
    if written.changed:
        say(
            f"note: {pluralize(written.changed, 'case')} will be read without what {file.suffix} "
            "does not say: shared storages, places in them, devices, generators; a .jsonl has all"
        )
    return written.cases, written.calls


Writer = Callable[[TraceSource, Sequence[Case], Path, bool, Say], Amount]

WRITERS: Mapping[str, Writer] = {
    ".jsonl": _write_recording,
    ".txt": _write_log,
    ".json": _write_configuration,
}
"""Functions that write calls, by the extension of the file."""
