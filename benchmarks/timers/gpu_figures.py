"""Figures of PyTorch on a GPU, from the run files of `benchmarks/timers/gpu_check.sh`.

Prints how the cases of each sweep of the registry ended, the medians of native over python and of
native over events on the same cases, times of kernels by Nsight Compute over those of native, the
time of an empty kernel by each profiler, how many times are those of a launch, and the GPU's clocks
and temperatures during the cases.

Run: python -m benchmarks.timers.gpu_figures DEVICE FOLDER
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opperf.frameworks import load
from opperf.instruments.profilers import find_profilers, profiler
from opperf.instruments.profilers.reference_work import launch_ns
from opperf.model import PASSES, NoteCode, Record, Status
from opperf.results.runfile import read_run

SWEEPS = ("small", "default")
"""Names of the run files of the whole registry: the sizes."""

NCU = "ncu"
"""Name of the run file of some operators under Nsight Compute."""

OPERATORS = "operators"
"""Name of the run file of some operators by each profiler."""

LACKING = NoteCode.NOT_PROFILED

PYTHON, NATIVE, EVENTS = "python", "native", "events"


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / max(1, whole):.1%})"


REASONS = 5
"""Most reasons that are printed, the most frequent ones."""


def statuses(records: Sequence[Record]) -> Iterator[str]:
    """Yields how the cases ended, and the most frequent reasons of those that did not end ok."""
    counts = Counter(record.status.value for record in records)
    yield ", ".join(f"{count} {status}" for status, count in counts.most_common())
    reasons = Counter(one.reason for one in records if one.status is not Status.OK)
    yield from (f"  {count} {reason}" for reason, count in reasons.most_common(REASONS))


def launches(records: Iterable[Record]) -> str:
    """Returns the share of the times that are those of a launch."""
    pairs = [(one, metric) for one in records for metric in PASSES if metric in one.summaries]
    bound = [one for one, metric in pairs if one.note(metric, NoteCode.LAUNCH_BOUND)]
    return f"launch-bound  {share(len(bound), len(pairs))} times"


def state(records: Sequence[Record]) -> str:
    """Returns the range of the GPU's clocks and temperatures during the cases."""
    states = [record.gpu for record in records if record.gpu is not None]
    if not states:
        return "no readings of clocks: pip install nvidia-ml-py"
    merged = states[0]
    for one in states[1:]:
        merged = merged.merge(one)
    throttled = sum(bool(one.throttled) for one in states)
    return (
        f"clocks {merged.lowest_mhz} to {merged.highest_mhz} MHz, up to {merged.temperature_c} °C; "
        f"lowered in {share(throttled, len(states))} cases {', '.join(merged.reasons)}".rstrip()
    )


def ratios(records: Iterable[Record], name: str, other: str) -> Iterator[str]:
    """Yields for each pass the median ratio of the times by two profilers, and where the first
    exceeds the second."""
    by_case: dict[str, dict[str, Record]] = {}
    for record in records:
        key = f"{record.case.label} {record.case.arguments}"
        by_case.setdefault(key, {})[record.case.settings.profiler] = record
    for metric in PASSES:
        found = {
            both[name].case.label: both[name].summaries[metric].median
            / both[other].summaries[metric].median
            for both in by_case.values()
            if all(one in both and metric in both[one].summaries for one in (name, other))
        }
        if found:
            above = [label for label, ratio in found.items() if ratio > 1]
            yield (
                f"{name}/{other} {metric}: median {statistics.median(found.values()):.3f} of "
                f"{len(found)} cases, above 1: {', '.join(above) or 'none'}"
            )


def profiled(records: Sequence[Record]) -> Iterator[str]:
    """Yields how many passes have kernels that ncu found, and the ratio of their times by ncu to
    those by the framework's own profiler, in the same run."""
    passes = [(one, metric) for one in records for metric in PASSES if metric in one.summaries]
    found = {}
    for one, metric in passes:
        time = one.summaries.get("ncu_time" if metric == "forward" else f"ncu_time_{metric}")
        if time is not None:
            ratio = time.median / one.summaries[metric].median
            found[f"{one.case.label} {metric}"] = ratio
    yield f"kernels by ncu in {share(len(found), len(passes))} passes"
    if found:
        low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        yield (
            f"ncu/native: median {statistics.median(found.values()):.3f}, from "
            f"{found[low]:.3f} ({low}) to {found[high]:.3f} ({high})"
        )
    notes = Counter(note.message for one in records for note in one.notes if note.code == LACKING)
    yield from (f"  {count} {text}" for text, count in notes.most_common(REASONS))


def launch_times(device: str) -> Iterator[str]:
    """Yields the time of an empty kernel by each profiler of the device, waited for and queued."""
    framework = load("torch")
    for name in find_profilers(framework):
        timer = profiler(name, framework, device)
        for queued in (False, True) if name == PYTHON else (False,):
            taken = launch_ns(framework, device, name, timer, queued=queued)
            text = "none on this device" if taken is None else f"{taken / 1e3:.2f} us"
            yield f"empty kernel, {name}{', queued' if queued else ''}: {text}"


def main(device: str, folder: Path) -> None:
    """Prints the figures of the run files that the folder has."""
    for size in SWEEPS:
        path = folder / f"{size}.jsonl"
        if path.exists():
            run, _ = read_run(path)
            lines = [*statuses(run.records), launches(run.records), state(run.records)]
            print(f"\nRegistry, {size}:", *lines, sep="\n  ")
    path = folder / f"{OPERATORS}.jsonl"
    if path.exists():
        run, _ = read_run(path)
        pairs = ((NATIVE, PYTHON), (NATIVE, EVENTS))
        lines = [line for pair in pairs for line in ratios(run.records, *pair)]
        print("\nOperators:", *lines, launches(run.records), state(run.records), sep="\n  ")
    path = folder / f"{NCU}.jsonl"
    if path.exists():
        run, _ = read_run(path)
        print("\nUnder ncu:", *profiled(run.records), sep="\n  ")
    print("\nLaunches:", *launch_times(device), sep="\n  ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("device", help="as --ctx takes it")
    parser.add_argument("folder", type=Path, help="folder of the run files")
    chosen = parser.parse_args()
    main(chosen.device, chosen.folder)
