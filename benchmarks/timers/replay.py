"""Replays of traces: how much of each is replayed, and the time of an iteration; and beside a
program that is run here, the ratio of a replay's time to the program's own.

The program is a training step, recorded once. Its steps and the replay's iterations are then run
in turn, so that both meet the same load, and the ratio is the median of those of the pairs.

Run: python -m benchmarks.timers.replay [FOLDER] [--steps 7] [--iterations 3] [--threads 1]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

from opperf.errors import OpperfError
from opperf.frameworks import Framework, load
from opperf.frameworks.replays import Replayed
from opperf.instruments.prepared import case_scope
from opperf.model import TraceTarget
from opperf.sources.replays import open_replay, read_sequence
from opperf.traces.trace import FRAMEWORK

WARMUP = 3
"""Steps and iterations before those that are timed."""

PAIRS = 41
"""Steps that are timed, each beside an iteration."""

RECORDED_STEP = 2
"""The step of the profiler's that is replayed: the first ones pay for the recording's begin."""


def replays(framework: Framework, path: Path, **chosen: Any) -> Iterator[tuple[Any, Replayed]]:
    """Yields the replays of a trace, each with its case."""
    for case in open_replay(path, TraceTarget(FRAMEWORK, "", "", **chosen)).cases():
        assert isinstance(case.target, TraceTarget)
        with case_scope(case, framework):
            yield case, framework.recordings.replay(case, read_sequence(framework, case.target))


def seconds(call: Callable[[], object]) -> float:
    """Returns what a call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def coverage(replay: Replayed) -> tuple[int, int, int, int]:
    """Returns the numbers of calls and of distinct ones, those replayed first."""
    steps = replay.sequence.steps
    calls = [index for index, step in enumerate(steps) if not step.collective]
    made = [index for index in calls if index not in replay.omitted]
    kinds = [len({steps[index].call for index in group}) for group in (made, calls)]
    return len(made), len(calls), kinds[0], kinds[1]


def row(framework: Framework, path: Path, steps: str, iterations: int) -> list[Any]:
    """Returns what a table says of a trace; of several ranks, of the first. `steps` are those that
    are replayed, of a trace that has them."""
    try:
        _, replay = next(replays(framework, path, steps=steps))
    except OpperfError as error:
        if steps:
            return row(framework, path, "", iterations)
        return [path.name, "", "", "", str(error)]
    times = [seconds(replay) for _ in range(iterations)]
    made, calls, kinds, all_kinds = coverage(replay)
    return [
        f"{path.name} {steps and f'step {steps}'}",
        f"{made} of {calls}",
        f"{kinds} of {all_kinds}",
        f"{1e3 * statistics.median(times):.3f}",
        "; ".join(sorted(set(replay.omitted.values()))),
    ]


def program() -> Callable[[], object]:
    """Returns a training step of a small convolutional network."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 48, 3, padding=1),
        torch.nn.BatchNorm2d(48),
        torch.nn.ReLU(),
        torch.nn.Conv2d(48, 96, 3, padding=1, stride=2),
        torch.nn.BatchNorm2d(96),
        torch.nn.ReLU(),
        torch.nn.Conv2d(96, 96, 3, padding=1, stride=2),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(96 * 16, 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 100),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images, labels = torch.randn(16, 3, 32, 32), torch.randint(0, 100, (16,))

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def record(step: Callable[[], object], folder: Path) -> None:
    """Writes the execution trace and the profiler's trace of some steps to a folder."""
    observer = ExecutionTraceObserver().register_callback(str(folder / "program.json"))
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=3),
        on_trace_ready=lambda done: done.export_chrome_trace(str(folder / "program.trace.json")),
        execution_trace_observer=observer,
    ) as profiler:
        for _ in range(4):
            step()
            profiler.step()


def compared(framework: Framework) -> None:
    """Prints the ratio of a replay's time to that of its program, by gaps."""
    step = program()
    for _ in range(WARMUP):
        step()
    with tempfile.TemporaryDirectory() as name:
        record(step, Path(name))
        made = {
            gaps: next(replays(framework, Path(name), steps=str(RECORDED_STEP), gaps=gaps))[1]
            for gaps in ("none", "recorded")
        }
    calls = {"program": step, **made}
    times: dict[str, list[float]] = {key: [] for key in calls}
    for number in range(WARMUP + PAIRS):
        for key, call in calls.items():
            taken = seconds(call)
            if number >= WARMUP:
                times[key].append(taken)
    print(f"program's step: {1e3 * statistics.median(times['program']):.3f} ms")
    for key in made:
        ratios = [own / base for own, base in zip(times[key], times["program"], strict=True)]
        low, median, high = statistics.quantiles(ratios, n=4)
        made_calls, all_calls, *_ = coverage(made[key])
        print(
            f"replay, gaps {key}: {1e3 * statistics.median(times[key]):.3f} ms, {made_calls} of "
            f"{all_calls} calls; ratio {median:.3f} (quartiles {low:.3f} and {high:.3f})"
        )


def main() -> None:
    """Prints the table of a folder's traces, and the comparison with a program."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="folder of traces")
    parser.add_argument("--steps", default="", help="steps of traces that have them")
    parser.add_argument("--iterations", type=int, default=3, help="timed iterations of a trace")
    parser.add_argument("--threads", type=int, help="compute threads")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    framework = load(FRAMEWORK)
    compared(framework)
    if options.folder:
        paths = sorted(path for path in options.folder.iterdir() if ".json" in path.name)
        rows = [row(framework, path, options.steps, options.iterations) for path in paths]
        print(tabulate(rows, ["Trace", "Calls", "Distinct", "Iteration ms", "Omitted"]))


if __name__ == "__main__":
    main()
