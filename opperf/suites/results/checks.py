"""The checks of opperf's layers: functions of a bench's results, which yield what they find."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean, median
from typing import Literal, NamedTuple

from opperf.instruments.profilers.noise import noise_notes
from opperf.instruments.program_metrics import RATE
from opperf.machine.environment import incomparable_facts
from opperf.model import NoteCode, Status
from opperf.plurals import pluralize
from opperf.suites.results.run import Attempt, BenchResults, Process, SuiteRun

Level = Literal["failure", "warning", "unknown"]
"""Of what is unknown a layer cannot say whether it is a failure."""


class Found(NamedTuple):
    """Something that a layer finds."""

    level: Level
    text: str
    process: str = ""
    """Names of the processes it is about; empty for the bench."""
    bench: str = ""
    layer: str = ""
    """Names of both, once it is known."""


DRIFT_SHARE = 0.05
"""Smallest drift that is named: rates of one program differ by less from one second to the next."""

LOSS_PARTS = 3
"""Losses scatter from step to step: the median of the last of so many parts is compared with that
of the first."""

LEAST_LOSSES = 2 * LOSS_PARTS
"""Fewest losses for that: two for each part."""


def _fail(text: str, process: str = "") -> Found:
    return Found("failure", text, process)


def _warn(text: str, process: str = "") -> Found:
    return Found("warning", text, process)


def processes_of(bench: BenchResults) -> Iterator[tuple[str, Process]]:
    """Yields each process of a bench with its name, which says its attempt if there are several."""
    attempts = bench.all
    for number, attempt in enumerate(attempts):
        for process in attempt.processes:
            again = f"R{number}." if len(attempts) > 1 else ""
            node = f"{process.result.node}." if process.result.node else ""
            yield f"{again}{node}{process.result.name}", process


def started(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields that a bench never started, or that cases of it did not."""
    attempts = bench.all
    if not attempts:
        yield _fail(f"never started: {bench.facts.why_not or 'no record of it'}")
        return
    missing = [
        id for id in bench.facts.cases if id not in {attempt.record.id for attempt in attempts}
    ]
    if missing:
        yield _fail(f"{pluralize(len(missing), 'case')} of {len(bench.facts.cases)} never started")
    for attempt in attempts:
        if attempt.record.status is Status.SKIPPED:
            yield _fail(f"never started: {attempt.record.reason}")
        elif attempt.is_program and attempt.worked and not attempt.processes:
            yield _fail("never started: its record has no process")


def timeout(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields what took longer than it may."""
    for attempt in bench.all:
        if attempt.record.status is Status.TIMEOUT:
            yield _fail(_named_timeout(attempt.record.reason))
    for text in bench.failed_rounds:
        if _is_timeout(text):
            yield _fail(_named_timeout(text))
    for name, process in processes_of(bench):
        said = process.observed.timeout if process.observed else ""
        if process.result.status is not Status.TIMEOUT and said:
            yield _fail(_named_timeout(said), name)


def _is_timeout(round_text: str) -> bool:
    return round_text.partition(":")[0].endswith(Status.TIMEOUT.value)


def _named_timeout(reason: str) -> str:
    return reason if reason.lower().startswith("timeout") else f"timeout: {reason}"


ENDED_BADLY = frozenset({Status.FAILED, Status.CRASHED})


def error(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields the errors, each once with the processes that had it."""
    found: dict[str, list[str]] = {}
    for name, process in processes_of(bench):
        result = process.result
        if result.status in ENDED_BADLY and not result.stopped:
            found.setdefault(_error_text(process), []).append(name)
    for text, names in found.items():
        yield _fail(text, ", ".join(names))
    for text in bench.failed_rounds:
        if not _is_timeout(text):
            yield _fail(text)
    for attempt in bench.all:
        explained = any(process.result.status in ENDED_BADLY for process in attempt.processes)
        if attempt.record.status in ENDED_BADLY and not explained:
            yield _fail(attempt.record.reason or f"it {attempt.record.status.value}")


def _error_text(process: Process) -> str:
    result = process.result
    raised = process.observed.errors[-1] if process.observed and process.observed.errors else ""
    said = result.reason or f"exit code {result.exit_code}"
    return f"{said}: {raised}" if raised and raised not in said else said


def ensure_rate(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes that made fewer observations than were expected. One without any, beside
    others that made theirs, is found by `planning`."""
    wanted = max(bench.facts.expected, 1)
    observing = any(map(_made, bench.processes))
    for name, process in processes_of(bench):
        made = process.count if run.is_milabench else _made(process)
        # How others ended is found by another layer.
        is_silent = observing and not made
        if process.result.status is Status.OK and made < wanted and not is_silent:
            advice = "; lower voir.options.stop or give it more work" if made else ""
            yield _fail(
                f"{made} of {pluralize(wanted, 'observation')}: the program ended before{advice}",
                name,
            )
    for attempt in bench.all:
        if attempt.worked and not attempt.is_program and not attempt.record.summaries:
            yield _fail("its record has no figure")


def _made(process: Process) -> int:
    """Returns the number of a process's observations after the warm-up."""
    return process.result.rate.n if process.result.rate else 0


def loss(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields losses that are no number, and those that grow."""
    for name, process in processes_of(bench):
        losses = process.losses
        bad = next((i for i, value in enumerate(losses) if not math.isfinite(value)), None)
        if bad is not None:
            yield _fail(f"loss {losses[bad]} at observation {bad + 1} of {len(losses)}", name)
        elif len(losses) >= LEAST_LOSSES:
            part = len(losses) // LOSS_PARTS
            first, last = median(losses[:part]), median(losses[-part:])
            if last > first:
                yield _warn(f"the loss grows from {first:.4g} to {last:.4g}", name)


def usage(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields GPUs that are used less than the bench asks for."""
    facts = bench.facts
    loads: dict[str, list[float]] = {}
    memories: dict[str, list[float]] = {}
    for _, process in processes_of(bench):
        for sample in process.observed.gpus if process.observed else ():
            if sample.load is not None:
                loads.setdefault(sample.device, []).append(sample.load)
            if sample.used_mb is not None and sample.total_mb:
                memories.setdefault(sample.device, []).append(sample.used_mb / sample.total_mb)
    for make, what, found, least in (
        (_fail, "load", loads, facts.gpu_load),
        (_warn, "memory", memories, facts.gpu_memory),
    ):
        for device, values in sorted(found.items()):
            mean = fmean(values)
            if least is not None and mean < least:
                yield make(f"mean {what} of GPU {device} is {mean:.0%}, below {least:.0%}")


def samples(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields figures of the machines that some of a program's nodes are missing from."""
    for attempt in bench.all:
        for note in attempt.record.notes:
            if note.code == NoteCode.INCOMPLETE and note.metric not in ("", RATE.name):
                yield _warn(note.message)


def planning(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields attempts in which other numbers of processes observed than were planned."""
    for attempt in bench.all:
        # How an attempt ended is found by another layer.
        if not attempt.is_program or attempt.record.status is not Status.OK:
            continue
        observed = sum(process.count > 0 for process in attempt.processes)
        yield from differing("observed", observed, bench.facts.processes)


def differing(what: str, number: int, planned: int) -> Iterator[Found]:
    """Yields that another number of processes did something than were planned, or that no one
    knows how many were."""
    if not planned:
        # One on each GPU, and neither an event meta nor a sample says how many there are.
        text = f"processes that {what}: {number}; planned: one for each GPU, of an unknown number"
        yield Found("unknown", text)
    elif number != planned:
        yield _fail(f"processes that {what}: {number}; planned: {planned}")


def version(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields attempts of which no versions are known."""
    for attempt in bench.all:
        has_environment = attempt.record.environment in run.environments
        says = any(
            process.observed and process.observed.meta is not None for process in attempt.processes
        )
        if attempt.worked and not has_environment and not says:
            yield _warn("neither an environment nor an event meta says what it was measured with")


def throttle(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields attempts in which a GPU lowered its clocks."""
    for attempt in bench.all:
        gpu, note = attempt.record.gpu, _note(attempt, NoteCode.THROTTLED)
        if gpu is not None and gpu.throttled:
            why = f" ({', '.join(gpu.reasons)})" if gpu.reasons else ""
            yield _warn(f"lowered clocks at {gpu.throttled} of {gpu.readings} readings{why}")
        elif note:
            yield _warn(note)


def drift(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields processes whose rate tends to grow or to fall after the warm-up; of what is no
    program, and of programs without a stream, what their records say."""
    for name, process in processes_of(bench):
        for note in noise_notes(RATE.name, process.rates, DRIFT_SHARE):
            if note.code is NoteCode.DRIFT:
                yield _warn(f"rate, {note.message}", name)
    unseen = [
        attempt for attempt in bench.all if not any(process.rates for process in attempt.processes)
    ]
    texts = [text for attempt in unseen if (text := _note(attempt, NoteCode.DRIFT))]
    if texts:
        others = f" (and {pluralize(len(texts) - 1, 'other')})" if texts[1:] else ""
        yield _warn(f"{texts[0]}{others}")


def _note(attempt: Attempt, code: NoteCode) -> str:
    found = (f"{note.metric}, {note.message}" for note in attempt.record.notes if note.code == code)
    return next(found, "")


def environment(bench: BenchResults, run: SuiteRun) -> Iterator[Found]:
    """Yields facts by which the environments of a bench's attempts differ."""
    known = run.environments
    used = dict.fromkeys(
        attempt.record.environment for attempt in bench.all if attempt.record.environment in known
    )
    first, *others = (known[id] for id in used) if used else (None,)
    for other in others:
        assert first is not None
        differing = incomparable_facts(first, other)
        if differing:
            yield _warn(
                f"measured in environments that differ by {', '.join(differing)}: "
                f"{first.hostname} and {other.hostname}"
            )
