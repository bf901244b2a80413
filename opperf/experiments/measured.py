"""Records of models of opperf's own run files, and the lines that PyTorch/XLA's tools read."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from opperf.experiments.records import INCOMPATIBLE, ModelRecord, line_of
from opperf.experiments.repeating import command_of_case
from opperf.instruments.compilation import FIRST_CALL
from opperf.instruments.memory import MEMORY
from opperf.instruments.steps import STEP
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
