"""Files of records of models: opperf's run files, JSON lines of PyTorch/XLA's benchmarks, or tables
of PyTorch's own runner, which no command takes beside the others."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from opperf import reading
from opperf.errors import RunFileError, UsageError
from opperf.experiments.records import INCOMPATIBLE, ModelRecord, line_of, read_lines
from opperf.experiments.repeating import command_of_case
from opperf.experiments.runner_csv import is_runner_csv, read_rows
from opperf.frameworks import pause_garbage_collection
from opperf.instruments.compilation import FIRST_CALL
from opperf.instruments.memory import MEMORY
from opperf.instruments.program_metrics import STEP
from opperf.instruments.times import FORWARD, TOTAL
from opperf.model import (
    DECLARED,
    DEFAULTS,
    Case,
    Environment,
    ModelTarget,
    Record,
    Run,
    Status,
    display_argument,
)
from opperf.plurals import pluralize
from opperf.results.output import reason
from opperf.results.runfile import is_run_file, read_run

NS_PER_S = 1e9
BYTES_PER_GB = 1e9

TESTS = {"predict": "eval", "train": "train"}
"""Words of PyTorch/XLA's benchmarks for phases."""

KINDS = {"gpu": "cuda"}
"""Its words for kinds of devices, where they are not opperf's."""

EAGER = "eager"

BACKENDS: dict[str, tuple[str | None, str | None]] = {
    EAGER: (None, None),
    "compile": (None, "inductor"),
    "xla": ("PJRT", None),
    "compile:openxla": ("PJRT", "openxla"),
}
"""Its runtime of XLA and back end of dynamo, by mode; another mode is a back end by its name."""

STEPS = (STEP, TOTAL, FORWARD)
"""Times of a repeat: of a training step, or else of the passes."""

OWN = ("mode", "device", "phase", "profiler")
"""Settings that records have a key for."""

COUNTS = ("graph_breaks", "recompilations", "flops")


def records_of(run: Run, path: Path) -> list[ModelRecord]:
    """Returns a record of each of a run's records. `path` is that of its file."""
    started = datetime.fromisoformat(run.header.started).timestamp()
    return [
        _record(
            record,
            run.environments.get(record.environment),
            started,
            path,
            _command(record.case, run, path),
        )
        for record in run.records
    ]


def _command(case: Case, run: Run, path: Path) -> str:
    """Returns the command that measures a case alone: of a model by its name."""
    if isinstance(case.target, ModelTarget):
        return command_of_case(case, run.header.interpreters)
    return f"opperf run {shlex.quote(str(path))} --id {case.id}"


def xla_text(run: Run, columns: Sequence[str] = ()) -> str:
    """Returns a run as the JSON lines of PyTorch/XLA's benchmarks."""
    lines = (line_of(record) for record in records_of(run, Path("results.jsonl")))
    return "".join(f"{line}\n" for line in lines)


def _record(
    record: Record, environment: Environment | None, started: float, path: Path, command: str
) -> ModelRecord:
    case, settings = record.case, record.case.settings
    xla, dynamo = BACKENDS.get(settings.mode, (None, settings.mode.rpartition(":")[2]))
    kind = settings.device.partition("(")[0]
    before, times = _times(record)
    verified = record.verification
    return ModelRecord(
        suite_name=_suite(case),
        model_name=_model(case),
        metrics=_metrics(record, [*before, *times]),
        accelerator=KINDS.get(kind, kind),
        accelerator_model=_device_name(environment, settings.device),
        xla=xla,
        dynamo=dynamo,
        test=TESTS[settings.phase],
        batch_size=case.target.batch_size if isinstance(case.target, ModelTarget) else None,
        repeat=len(times),
        iterations_per_run=settings.iterations or 1,
        timestamp=started,
        verification_code=None if verified is None else verified.code.value,
        verification_mean_rel_error=None if verified is None else verified.mean_relative_error,
        verification_max_rel_error=None if verified is None else verified.max_relative_error,
        command=command,
        warmup_repeats=len(before),
        place=f"{path}: {record.id}",
    )


def _suite(case: Case) -> str:
    if isinstance(case.target, ModelTarget):
        return case.target.suite or Path(case.target.file).name
    return case.target.framework


PYTORCH = "torch"


def _model(case: Case) -> str:
    """Returns a model's name, with what is not the default and no key of a record has: two such
    models are not compared."""
    target, settings = case.target, case.settings
    name = case.label
    # Records of PyTorch/XLA's are all of PyTorch.
    differing = [] if target.framework == PYTORCH else [target.framework]
    if isinstance(target, ModelTarget):
        name = target.name.rpartition(":")[2]
        differing += [f"{key}={display_argument(value)}" for key, value in target.arguments.items()]
        differing += [] if target.size == "default" else [target.size]
    differing += [
        f"{setting}={getattr(settings, setting)}"
        for setting, declared in DECLARED.items()
        if (declared.axis or declared.process) and setting not in OWN
        if getattr(settings, setting) != DEFAULTS[setting]
    ]
    return f"{name} ({', '.join(differing)})" if differing else name


def _times(record: Record) -> tuple[list[float], list[float]]:
    """Returns the seconds per iteration of the first repeat, whose first call compiles, and of the
    warm-up, as far as they are known, and of each repeat after them."""
    metric = next((metric for metric in STEPS if metric.name in record.summaries), None)
    if metric is None:
        return [], []
    summary = record.summaries[metric.name]
    times = record.samples.get(metric.name) or [summary.median]
    first = record.summaries.get(FIRST_CALL.name)
    iterations = record.case.settings.iterations or 1
    # The first call is timed alone: the others of its repeat take as long as later ones.
    others = (iterations - 1) * summary.median
    before = [] if first is None else [(first.median + others) / iterations]
    before += record.warmup.get(metric.name, [])
    return _seconds(before), _seconds(times)


def _seconds(times: Sequence[float]) -> list[float]:
    return [time / NS_PER_S for time in times if math.isfinite(time)]


def _metrics(record: Record, times: list[float]) -> dict[str, Any]:
    if record.status is not Status.OK:
        is_skipped = record.status is Status.SKIPPED
        return {"error": INCOMPATIBLE if is_skipped else record.reason or record.status.value}
    found: dict[str, Any] = {}
    if times:
        calls = record.case.settings.iterations or 1
        found = {"total_time": [calls * time for time in times], "per_iter_time": times}
    memory = record.summaries.get(MEMORY.name)
    if memory is not None and math.isfinite(memory.median):
        found["peak_mem"] = memory.median / BYTES_PER_GB
    for name in COUNTS:
        count = record.summaries.get(name)
        if count is not None and math.isfinite(count.median):
            found[name] = count.median
    return found


def _device_name(environment: Environment | None, device: str) -> str:
    if environment is None:
        return device
    kind, _, index = device.rstrip(")").partition("(")
    if kind == "cpu":
        return environment.cpu
    number = int(index or 0)
    gpus = environment.gpus
    return gpus[number].get("name", device) if number < len(gpus) else device


MOST_WARNINGS = 3
"""Most warnings about lines of one file: a file of another form has one for each line."""

XLA, RUNNER = "records of PyTorch/XLA", "rows of PyTorch's runner"


def read_records(
    paths: Sequence[Path], warnings: list[str], timestamp: float | None = None
) -> list[ModelRecord]:
    """Returns the records of files, in their order. Those without a time have `timestamp`, or that
    at which their file was last changed. Adds lines that are cut off, and the like, to `warnings`.
    Raises `RunFileError` for a file that is none of these, and for two forms."""
    with pause_garbage_collection():
        return _read_all(paths, warnings, timestamp)


def _read_all(
    paths: Sequence[Path], warnings: list[str], timestamp: float | None
) -> list[ModelRecord]:
    records: list[ModelRecord] = []
    forms: dict[str, Path] = {}
    for path in paths:
        form = RUNNER if is_runner_csv(begin_of(path)) else XLA
        forms.setdefault(form, path)
        if len(forms) > 1:
            raise RunFileError(
                f"{forms[RUNNER]} has {RUNNER}, and {forms[XLA]} {XLA}; aggregate each alone, or "
                "write the rows as records first: opperf aggregate "
                f"{forms[RUNNER]} --report records --format jsonl"
            )
        records += _dated(path, read_file(path, form, warnings), timestamp, warnings)
    return records


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file. Raises `RunFileError` if it cannot be read."""
    try:
        return reading.read_bytes(path, reading.READ_WHOLE)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {reason(error)}") from error


def _lines_of(path: Path) -> Iterator[bytes]:
    """Yields the lines of a file. Raises `RunFileError` if it cannot be read."""
    try:
        yield from reading.lines_of(path)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {reason(error)}") from error


def begin_of(path: Path) -> bytes:
    """Returns the first line of a file. Raises `RunFileError` if it cannot be read."""
    try:
        return reading.first_line(path)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {reason(error)}") from error


def read_file(path: Path, form: str, warnings: list[str]) -> list[ModelRecord]:
    """Returns the records of a file of a form, `XLA` or `RUNNER`. Adds lines that are cut off, and
    the like, to `warnings`. Raises `RunFileError` for a file of another form."""
    found: list[ModelRecord] = []
    doubts: list[str] = []
    if form == RUNNER:
        found += read_rows(path, read_bytes(path), doubts)
    else:
        if is_run_file(path):
            run, doubts = read_run(path)
            warnings += doubts
            return records_of(run, path)
        for line in read_lines(path, _lines_of(path)):
            if line.record is not None:
                found.append(line.record)
            if line.warning:
                doubts.append(line.warning)
        if doubts and not found:
            raise RunFileError(
                f"{path} has no record: neither JSON lines of PyTorch/XLA's benchmarks nor a table "
                "of PyTorch's runner (dev,name,batch_size,...)"
            )
    if not found:
        doubts.append(f"{path} has no records")
    warnings += doubts[:MOST_WARNINGS]
    if len(doubts) > MOST_WARNINGS:
        warnings.append(f"{path}: {pluralize(len(doubts) - MOST_WARNINGS, 'more line')} omitted")
    return found


def _dated(
    path: Path, records: list[ModelRecord], timestamp: float | None, warnings: list[str]
) -> list[ModelRecord]:
    without = sum(record.timestamp is None for record in records)
    if not without:
        return records
    if timestamp is None:
        timestamp = float(int(path.stat().st_mtime))
        warnings.append(
            f"{path}: {without} of {pluralize(len(records), 'record')} without a timestamp, and "
            "given that of the file's last change; --timestamp sets another"
        )
    return [
        replace(record, timestamp=timestamp) if record.timestamp is None else record
        for record in records
    ]


def read_folder(folder: Path, omitted: str, warnings: list[str]) -> list[ModelRecord]:
    """Returns the records of a folder's files *.jsonl but for that of a name, and adds what is
    doubtful to `warnings`. Raises `UsageError` or `RunFileError` without files."""
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {what}; name the folder with the results (*.jsonl)")
    files = [path for path in sorted(folder.glob("*.jsonl")) if path.stem != omitted]
    if not files:
        raise RunFileError(f"{folder} has no files *.jsonl of results")
    return [record for path in files for record in read_file(path, XLA, warnings)]
