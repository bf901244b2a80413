"""The requests of `list`, `show` and `coverage`, read once from their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opperf.commands.frameworks import FrameworkChoice, read_choice
from opperf.commands.run.request import (
    build_common_settings,
    build_fuzz,
    build_groups,
    check_shape_options,
    split_sources,
)
from opperf.errors import UsageError
from opperf.model import Interpreter
from opperf.results.output import Output
from opperf.results.runfile import is_run_file
from opperf.sources.selecting import Selection


@dataclass(frozen=True)
class Registry:
    """A registry, and where the report about it goes."""

    framework: FrameworkChoice
    interpreters: tuple[Interpreter, ...]
    """The one that imports the framework; none for opperf's own."""
    imports: tuple[str, ...]
    """Modules whose operators are in the registry too."""
    output: Output
    overwrite: bool

    @property
    def is_own(self) -> bool:
        """Whether it is that of opperf's interpreter, without modules of the user's."""
        return not (self.interpreters or self.imports)


@dataclass(frozen=True)
class ListRequest:
    """The request of `list`."""

    registry: Registry
    selection: Selection
    by_category: bool


@dataclass(frozen=True)
class ShowRequest:
    """The request of `show`."""

    registry: Registry
    name: str
    file: Path | None
    """The run file that the name is of, whose cases are shown; None for an operator."""
    selection: Selection
    """The inputs and settings of the operator of this name."""

    @property
    def sets_inputs(self) -> bool:
        """Whether the user sets inputs, which an operator without a rule may have."""
        chosen = self.selection
        return bool(chosen.shapes or chosen.values or chosen.settings.input_function)


OF_FILES = frozenset(
    {"name", "ids", "python", "output_file", "output_format", "overwrite", "debug"}
)
"""Parameters of `show` that apply to a run file."""


@dataclass(frozen=True)
class CoverageRequest:
    """The request of `coverage`."""

    registry: Registry
    run_file: Path | None
    """The run whose records count; None to run every operator."""
    least: float | None
    """Share of the operators, in percent, below which the command fails."""
    quiet: bool


def read_registry(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> Registry:
    """Returns the registry of a command's options, of which the user set those of `set_here`.

    Raises `UsageError` for several interpreters.
    """
    interpreters: tuple[Interpreter, ...] = options["python"]
    if len({interpreter.label for interpreter in interpreters}) > 1:
        raise UsageError("--python: name one interpreter; only opperf run takes several")
    return Registry(
        framework=read_choice(options, set_here),
        interpreters=interpreters,
        imports=options.get("imports", ()),
        output=Output(options["output_file"], options["output_format"]),
        overwrite=options["overwrite"],
    )


def read_list_request(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> ListRequest:
    """Returns the request of `list`."""
    return ListRequest(
        registry=read_registry(options, set_here),
        selection=Selection(
            patterns=options["names"], exclude=options["exclude"], **build_groups(options)
        ),
        by_category=options["by_category"],
    )


def read_show_request(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> ShowRequest:
    """Returns the request of `show`. Raises `UsageError` for options that contradict each other,
    and for those of inputs beside a file."""
    check_shape_options(set_here)
    name: str = options["name"]
    # An empty name is no folder.
    _, files = split_sources([name] if name else [])
    file = files[0] if files else None
    if file is not None:
        if not is_run_file(file):
            raise UsageError(
                f"{name} is no run file: opperf run {name} --list prints the cases of other files"
            )
        for parameter in set_here:
            if parameter not in OF_FILES:
                raise UsageError(
                    f"--{parameter.replace('_', '-')} does not apply to {name}, whose cases have "
                    "their inputs and settings; omit it"
                )
    return ShowRequest(
        registry=read_registry(options, set_here),
        name=name,
        file=file,
        selection=Selection(
            size=options["size"],
            configurations=options["configurations"],
            shapes=options["shapes"],
            values=options["values"],
            fuzz=build_fuzz(options),
            ids=options["ids"],
            settings=build_common_settings(options),
            dtype_given=options["dtype"] is not None,
        ),
    )


def read_coverage_request(
    options: Mapping[str, Any], set_here: Mapping[str, Any]
) -> CoverageRequest:
    """Returns the request of `coverage`."""
    return CoverageRequest(
        registry=read_registry(options, set_here),
        run_file=options["run_file"],
        least=options["least"],
        quiet=options["quiet"],
    )
