"""The results of models in opperf's runs, read as other tools' records are; and the record that is
written of one, in the words of PyTorch/XLA's benchmarks."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

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
    Run,
    Status,
    display_argument,
)
from opperf.model.metrics import WRONG
from opperf.results.figures import CaseFigures, Measurement, case_figures
from opperf.results.settings import command_of_case

NS_PER_S = 1e9

TESTS = {"predict": "eval", "train": "train"}
"""Words of PyTorch/XLA's benchmarks for phases."""

KINDS = {"gpu": "cuda"}
"""Its words for kinds of devices, where they are not opperf's."""

BACKENDS = {
    "compile": "inductor",
    "xla": "openxla+lazytensor",
    "compile:openxla": "openxla+dynamo",
}
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


class MeasuredModel(NamedTuple):
    """The results of a model in a run of opperf."""

    figures: CaseFigures
    suite_name: str
    model_name: str
    accelerator: str
    accelerator_model: str
    timestamp: float
    """Seconds since 1970, UTC; that of all records of the run."""
    command: str
    """The command that repeats it."""
    place: str
    """The run file and the case."""
    flags: str = ""
    runtime: str = ""

    @property
    def _case(self) -> Case:
        return self.figures.record.case

    @property
    def error(self) -> str | None:
        """Why it has no results; None if it has."""
        record = self.figures.record
        if record.status is Status.OK:
            return None
        is_skipped = record.status is Status.SKIPPED
        return INCOMPATIBLE if is_skipped else record.reason or record.status.value

    @property
    def backend(self) -> str:
        """The backend's name, by the mode."""
        mode = self._case.settings.mode
        return BACKENDS.get(mode) or mode.rpartition(":")[2]

    @property
    def test(self) -> str:
        return TESTS[self._case.settings.phase]

    @property
    def batch_size(self) -> int | None:
        target = self._case.target
        return target.batch_size if isinstance(target, ModelTarget) else None

    @property
    def verification_code(self) -> str | None:
        found = self.figures.record.verification
        return None if found is None else found.code.value

    @property
    def _step(self) -> Measurement | None:
        found = self.figures.measured
        return next((found[metric.name] for metric in STEPS if metric.name in found), None)

    @property
    def has_times(self) -> bool:
        return self._step is not None

    def time(self, metric: str) -> Estimate | None:
        """Returns one of `METRICS` in seconds: the median time of a repeat, or what the first call
        takes longer; None without one."""
        step, first = self._step, self.figures.of(FIRST_CALL.name)
        if step is None or self.error is not None:
            return None
        if metric == "compile":
            return None if first is None else estimate([(first.median - step.median) / NS_PER_S])
        median = self._calls * step.median / NS_PER_S
        single = estimate([self._calls * time for time in _seconds(step.samples)])
        if not 0 < median < math.inf:
            return None
        error = step.error
        if error is None or single is None:
            return Estimate(median)
        return Estimate(median, single.deviation, error**2, error**4 / (step.summary.n - 1))

    @property
    def _calls(self) -> int:
        return self._case.settings.iterations or 1

    @property
    def record(self) -> ModelRecord:
        """The record that is written of it."""
        verified, step = self.figures.record.verification, self._step
        xla, dynamo = WORDS.get(self.backend, (None, self.backend))
        samples = [] if step is None else _seconds(step.samples or [step.median])
        return ModelRecord(
            suite_name=self.suite_name,
            model_name=self.model_name,
            metrics=self._metrics(samples),
            accelerator=self.accelerator,
            accelerator_model=self.accelerator_model,
            xla=xla,
            dynamo=dynamo,
            test=self.test,
            batch_size=self.batch_size,
            repeat=len(samples),
            iterations_per_run=self._calls,
            timestamp=self.timestamp,
            verification_code=self.verification_code,
            verification_mean_rel_error=None if verified is None else verified.mean_relative_error,
            verification_max_rel_error=None if verified is None else verified.max_relative_error,
            command=self.command,
            place=self.place,
        )

    def _metrics(self, samples: list[float]) -> dict[str, Any]:
        if self.error is not None:
            return {"error": self.error}
        found: dict[str, Any] = {}
        times = [*self._before(), *samples]
        if times:
            found = {"total_time": [self._calls * time for time in times], "per_iter_time": times}
        measured = self.figures.measured
        for name, key, size in WRITTEN:
            if name in measured and measured[name].is_finite:
                found[key] = measured[name].median / size
        return found

    def _before(self) -> list[float]:
        """Returns the seconds per iteration of the first repeat, whose first call compiles, and of
        the warm-up, as far as they are known."""
        step, first = self._step, self.figures.of(FIRST_CALL.name)
        if step is None:
            return []
        # The first call is timed alone: the others of its repeat take as long as later ones.
        others = (self._calls - 1) * step.median
        before = [] if first is None else [(first.median + others) / self._calls]
        return _seconds([*before, *self.figures.record.warmup.get(step.metric.name, [])])


ModelResult = ModelRecord | MeasuredModel
"""The results of a model, of whichever file."""


def is_wrong(result: ModelResult) -> bool:
    """Whether the verification of a result found it wrong."""
    return result.verification_code in WRONG_CODES


WRONG_CODES = frozenset(code.value for code in WRONG)


def failure_of(result: ModelResult) -> str | None:
    """Returns the error of a result, or that it is wrong; None for neither."""
    if result.error is None and is_wrong(result):
        return f"wrong result: verification {result.verification_code}"
    return result.error


def models_of(run: Run, path: Path) -> list[MeasuredModel]:
    """Returns the results of a run. `path` is that of its file."""
    started = datetime.fromisoformat(run.header.started).timestamp()
    found = []
    for own in case_figures(run):
        case = own.record.case
        kind = case.settings.device.partition("(")[0]
        again = (
            command_of_case(case, run.header.interpreters)
            if isinstance(case.target, ModelTarget)
            else f"opperf run {shlex.quote(str(path))} --id {case.id}"
        )
        found.append(
            MeasuredModel(
                own,
                _suite(case),
                _model(case),
                KINDS.get(kind, kind),
                _device_name(own.environment, case.settings.device),
                started,
                again,
                f"{path}: {own.record.id}",
            )
        )
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
