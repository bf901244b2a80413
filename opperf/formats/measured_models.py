"""The results of models in opperf's runs, read as other tools' records are; and the record that is
written of one, in the words of PyTorch/XLA's benchmarks."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from opperf.formats.model_records import INCOMPATIBLE, Estimate, ModelRecord, estimate
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
from opperf.results.figures import CaseFigures, Measurement, case_figures
from opperf.results.settings import command_of_case

NS_PER_S = 1e9

TESTS = {"predict": "eval", "train": "train"}
"""Words of PyTorch/XLA's benchmarks for phases."""

KINDS = {"gpu": "cuda"}
"""Its words for kinds of devices, where they are not opperf's."""

BACKENDS = {"compile": "inductor", "xla": "openxla+lazytensor", "compile:openxla": "openxla+dynamo"}
"""Backends by mode; any other mode is one by its name."""

WORDS: dict[str, tuple[str | None, str | None]] = {
    "eager": (None, None),
    "openxla+lazytensor": ("PJRT", None),
    "openxla+dynamo": ("PJRT", "openxla"),
}
"""Its runtime of XLA and back end of dynamo, by backend; another backend is one of dynamo."""

STEPS = (STEP, TOTAL, FORWARD)
"""Times of a repeat: of a training step, or else of the passes."""

OWN = ("mode", "device", "phase", "profiler")
"""Settings that records have a key for."""

WRITTEN = (
    (MEMORY.name, "peak_mem", 1e9),
    *((name, name, 1) for name in ("graph_breaks", "recompilations", "flops")),
)
"""Metrics beside times that records have, their keys, and the size of their unit."""


def models_of(run: Run, path: Path) -> list[ModelRecord]:
    """Returns the results of a run, by the words of PyTorch/XLA's benchmarks. `path` is that of its
    file."""
    started = datetime.fromisoformat(run.header.started).timestamp()
    return [
        replace(
            _record(own),
            timestamp=started,
            command=command_of_case(own.record.case, run.header.interpreters)
            if isinstance(own.record.case.target, ModelTarget)
            else f"opperf run {shlex.quote(str(path))} --id {own.record.case.id}",
            place=f"{path}: {own.record.id}",
        )
        for own in case_figures(run)
    ]


def _record(own: CaseFigures) -> ModelRecord:
    case, verified = own.record.case, own.record.verification
    settings, target = case.settings, case.target
    kind = settings.device.partition("(")[0]
    backend = BACKENDS.get(settings.mode) or settings.mode.rpartition(":")[2]
    xla, dynamo = WORDS.get(backend, (None, backend))
    found = own.measured
    step = next((found[metric.name] for metric in STEPS if metric.name in found), None)
    calls = settings.iterations or 1
    samples = [] if step is None else _seconds(step.samples or [step.median])
    error = _error(own.record)
    return ModelRecord(
        suite_name=_suite(case),
        model_name=_model(case),
        metrics=_metrics(own, step, samples, calls) if error is None else {"error": error},
        accelerator=KINDS.get(kind, kind),
        accelerator_model=_device_name(own.environment, settings.device),
        xla=xla,
        dynamo=dynamo,
        test=TESTS[settings.phase],
        batch_size=target.batch_size if isinstance(target, ModelTarget) else None,
        repeat=len(samples),
        iterations_per_run=calls,
        verification_code=None if verified is None else verified.code.value,
        verification_mean_rel_error=None if verified is None else verified.mean_relative_error,
        verification_max_rel_error=None if verified is None else verified.max_relative_error,
        estimates={} if step is None else _estimates(step, found.get(FIRST_CALL.name), calls),
    )


def _error(record: Record) -> str | None:
    if record.status is Status.OK:
        return None
    is_skipped = record.status is Status.SKIPPED
    return INCOMPATIBLE if is_skipped else record.reason or record.status.value


def _estimates(
    step: Measurement, first: Measurement | None, calls: int
) -> dict[str, Estimate | None]:
    """Returns the times in seconds: the median time of a repeat, and what the first call takes
    longer."""
    found: dict[str, Estimate | None] = {}
    if first is not None:
        found["compile"] = estimate([(first.median - step.median) / NS_PER_S])
    median, error = calls * step.median / NS_PER_S, step.error
    single = estimate([calls * time for time in _seconds(step.samples)])
    if 0 < median < math.inf:
        found["exec"] = (
            Estimate(median)
            if error is None or single is None
            else Estimate(median, single.deviation, error**2, error**4 / (step.summary.n - 1))
        )
    return found


def _metrics(
    own: CaseFigures, step: Measurement | None, samples: list[float], calls: int
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    measured = own.measured
    if step is not None:
        # The first call compiles, and is timed alone: the others of its repeat take as long as
        # later ones.
        first, others = measured.get(FIRST_CALL.name), (calls - 1) * step.median
        before = [] if first is None else [(first.median + others) / calls]
        warmup = own.record.warmup.get(step.metric.name, [])
        times = [*_seconds([*before, *warmup]), *samples]
        if times:
            found = {"total_time": [calls * time for time in times], "per_iter_time": times}
    for name, key, size in WRITTEN:
        if name in measured and measured[name].is_finite:
            found[key] = measured[name].median / size
    return found


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


def _seconds(times: Sequence[float]) -> list[float]:
    return [time / NS_PER_S for time in times if math.isfinite(time)]


def _device_name(environment: Environment | None, device: str) -> str:
    if environment is None:
        return device
    kind, _, index = device.rstrip(")").partition("(")
    if kind == "cpu":
        return environment.cpu
    number = int(index or 0)
    gpus = environment.gpus
    return gpus[number].get("name", device) if number < len(gpus) else device
