"""Going on with a run that was cut short: the file it left, and whether it is the same run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.model import Environment, Run
from opperf.results.environment import differences
from opperf.results.runfile import read_run
from opperf.runner.health import examine as health
from opperf.runner.options import Options
from opperf.runner.selecting import Selection


def earlier_run(run_file: Path, options: Options) -> tuple[Run, list[str]]:
    """The run that was cut short."""
    if not run_file.exists():
        what = options.resume or options.output
        raise RunFileError(f"{what}: there is no unfinished run to resume; run without --resume")
    return read_run(run_file)


SELECTING = {
    "names": "patterns",
    "ops": "patterns",
    "exclude": "exclude",
    "categories": "categories",
    "namespaces": "namespaces",
    "size": "size",
    "int64_tensor": "int64_tensor",
    "shapes": "shapes",
    "no_backward": "backward",
    "configurations": "configurations",
    "shuffle": "shuffle",
    "rounds": "rounds",
    "fuzz_shapes": "fuzz",
    "ids": "ids",
}
"""Option and the field of the selection it sets."""

SETTING = {
    "ctx": "device",
    "dtype": "dtype",
    "profiler": "profiler",
    "warmup": "warmup",
    "runs": "runs",
    "precision": "precision",
    "threads": "threads",
    "seed": "seed",
    "max_time_s": "max_time_s",
    "timeout_s": "timeout_s",
    "no_memory": "memory",
    "cache": "cache",
}
"""Option and the field of the settings it sets."""


def same_selection(earlier: Selection, asked: Selection, changed: Mapping[str, Any]) -> Selection:
    """The earlier run's selection, if nothing the user now asks for contradicts it."""
    places = (
        (SELECTING, earlier, asked),
        (SETTING, earlier.settings, asked.settings),
    )
    for options, before, after in places:
        for option, name in options.items():
            if option in changed:
                check_same(option, getattr(before, name), getattr(after, name))
    return earlier


PASSING = frozenset({"load_1min", "devices", *(f"health.{name}" for name in health.PASSING)})
"""What an environment has that is of a moment, or says what there is and not what is used: fields,
and keys of fields."""


def check_same_environment(earlier: Environment, now: Environment) -> None:
    """Refuse to go on where numbers would not be those of one run.

    Raises `RunFileError` with what differs.
    """
    differing = [
        f"{name} was {before!r} and is {after!r}"
        for name, before, after in differences(earlier, now)
        if not PASSING & {name, name.partition(".")[0]}
    ]
    if differing:
        raise RunFileError(
            f"the run to resume was made in another environment: {'; '.join(differing)}; "
            "go on with it there, or start anew with --overwrite"
        )


def check_same(option: str, before: object, after: object) -> None:
    """Raise `RunFileError` if an option of the run to resume is now given another value."""
    if before != after:
        raise RunFileError(
            f"the run to resume was made with {option} = {before!r}, not {after!r}; leave "
            "the option out, or start anew with --overwrite"
        )
