"""Resuming a run: reads its file, and checks that the options are the same."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from opperf.commands.run.request import Request
from opperf.errors import RunFileError
from opperf.model import DECLARED, Run, Wrapping
from opperf.results.run_files import check_is_run
from opperf.results.runfile import is_run_file, read_run
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes


def read_unfinished(run_file: Path, request: Request) -> tuple[Run, list[str]]:
    """Returns the run to resume, and warnings about its file. Raises `RunFileError` if there is
    none."""
    if not run_file.exists():
        path = request.resume or request.output
        if path.is_file() and is_run_file(path):
            raise RunFileError(f"{path} is a run file: resume it with --resume {path}")
        raise RunFileError(f"{path}: there is no unfinished run to resume; run without --resume")
    check_is_run(run_file)
    return read_run(run_file)


SELECTION_OPTIONS = {
    "names": ("OPERATOR", "patterns"),
    "ops": ("--ops", "patterns"),
    "exclude": ("--exclude", "exclude"),
    "categories": ("--category", "categories"),
    "namespaces": ("--namespace", "namespaces"),
    "tags": ("--tag", "tags"),
    "variants": ("--variants", "variants"),
    "size": ("--size", "size"),
    "int64_tensor": ("--int64-tensor", "int64_tensor"),
    "shapes": ("--shape", "shapes", "swept_shapes"),
    "values": ("--arg", "values"),
    "sweeps": ("--sweep", "sweeps"),
    "no_backward": ("--no-backward", "backward"),
    "configurations": ("--max-configs", "configurations"),
    "shuffle": ("--shuffle", "shuffle"),
    "rounds": ("--rounds", "rounds"),
    "batch_factor": ("--scale-batch", "batch_factor"),
    "skip_views": ("--skip-views", "skip_views"),
    "fuzz_shapes": ("--fuzz-shapes", "fuzz"),
    "ids": ("--id", "ids"),
}
"""Parameters of the command, each with its option and the fields of the selection it sets."""


SINGLE_VALUED = {name: setting.option for name, setting in DECLARED.items() if not setting.axis}
"""Settings of one value, each with its option."""


def check_selection(
    earlier: Selection,
    asked: Selection,
    explicit: Container[str],
    settings: Mapping[str, str] = SINGLE_VALUED,
) -> Selection:
    """Returns the earlier run's selection. `settings` are the settings to compare, each with its
    option.

    Raises `RunFileError` if an option that the user set contradicts it.
    """
    for parameter, (option, *names) in SELECTION_OPTIONS.items():
        for name in names if parameter in explicit else ():
            check_same(option, getattr(earlier, name), getattr(asked, name))
    for name, option in settings.items():
        if name in explicit:
            check_same(option, getattr(earlier.settings, name), getattr(asked.settings, name))
    return earlier


def check_axes(earlier: Axes, asked: Axes, explicit: Container[str]) -> Axes:
    """Returns the earlier run's axes. Raises `RunFileError` if an option that the user set has
    other values."""
    for name, values in asked.items():
        if name in explicit:
            check_same(DECLARED[name].option, axis_text(earlier.get(name, ())), axis_text(values))
    return earlier


def axis_text(values: tuple[Any, ...]) -> str:
    """Returns the values of an axis as text."""
    return ", ".join(str(value) for value in values)


def check_same_programs(before: Wrapping | None, asked: Wrapping) -> None:
    """Raises `RunFileError` if the cases of the run to resume are profiled in another way."""
    if before != asked:
        named = [" ".join(wrapper.words) for wrapper in before.wrappers] if before else []
        raise RunFileError(
            f"the run to resume was profiled under {' and '.join(named) or 'no program'}, with "
            "other options; omit those of profiling, or replace the run with --overwrite"
        )


def check_same(option: str, before: object, after: object) -> None:
    """Raises `RunFileError` if an option has another value than in the run to resume."""
    if before != after:
        raise RunFileError(
            f"the run to resume was made with {option} {before!r}, not {after!r}; omit the option, "
            "or replace the run with --overwrite"
        )
