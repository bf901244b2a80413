"""Going on with a run that was cut short: the file it left, and whether it is the same run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.model import DECLARED, Case, Environment, Run
from opperf.results.environment import differences
from opperf.results.runfile import read_run
from opperf.runner.health import examine as health
from opperf.runner.options import Options
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes, process_key


def read_unfinished(run_file: Path, options: Options) -> tuple[Run, list[str]]:
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


PLAIN = {name: setting.option for name, setting in DECLARED.items() if not setting.axis}
"""Settings of one value, each with its option."""


def check_selection(
    earlier: Selection,
    asked: Selection,
    changed: Mapping[str, Any],
    settings: Mapping[str, str] = PLAIN,
) -> Selection:
    """The earlier run's selection, if nothing the user now asks for contradicts it. `settings` are
    those that the selection holds, each with its option."""
    for option, name in SELECTING.items():
        if option in changed:
            check_same(option, getattr(earlier, name), getattr(asked, name))
    for name, option in settings.items():
        if name in changed:
            check_same(option, getattr(earlier.settings, name), getattr(asked.settings, name))
    return earlier


def check_axes(earlier: Axes, asked: Axes, changed: Mapping[str, Any]) -> Axes:
    """The earlier run's axes, if no option that is given now has other values."""
    for name, values in asked.items():
        if name in changed:
            check_same(DECLARED[name].option, axis_text(earlier.get(name, ())), axis_text(values))
    return earlier


def axis_text(values: tuple[Any, ...]) -> str:
    """The values of an axis in one text."""
    return ", ".join(str(value) for value in values)


PASSING = frozenset({"load_1min", "devices", *(f"health.{name}" for name in health.PASSING)})
"""What an environment has that is of a moment, or says what there is and not what is used: fields,
and keys of fields."""


def find_lasting_differences(one: Environment, other: Environment) -> list[tuple[str, Any, Any]]:
    """What two environments differ in for longer than a moment, with its value in each."""
    return [
        (name, before, after)
        for name, before, after in differences(one, other)
        if not PASSING & {name, name.partition(".")[0]}
    ]


class Environments:
    """The environments of a run, one for each group of cases that one process can measure.

    A worker that replaces another has the environment of the one before, but for what changes from
    moment to moment; so has one that goes on with a run.
    """

    def __init__(self, earlier: Run | None = None) -> None:
        self._of: dict[str, Environment] = {}
        if earlier is not None:
            for record in earlier.records:
                if record.environment:
                    self._of[_group(record.case)] = earlier.environments[record.environment]

    def check(self, case: Case, now: Environment) -> Environment:
        """The environment that the case's group has had from the first, which `now` is like.

        Raises `RunFileError`, with what differs, if it is not.
        """
        earlier = self._of.setdefault(_group(case), now)
        differing = [
            f"{name} was {before!r} and is {after!r}"
            for name, before, after in find_lasting_differences(earlier, now)
        ]
        if differing:
            raise RunFileError(
                f"the run to resume was made in another environment: {'; '.join(differing)}; "
                "go on with it there, or start anew with --overwrite"
            )
        return earlier


def _group(case: Case) -> str:
    return process_key(case.target.framework, case.settings)


def check_same(option: str, before: object, after: object) -> None:
    """Raise `RunFileError` if an option of the run to resume is now given another value."""
    if before != after:
        raise RunFileError(
            f"the run to resume was made with {option} = {before!r}, not {after!r}; leave "
            "the option out, or start anew with --overwrite"
        )
