"""Reads what requests select: sources among their words, groups, shapes and inputs, and which of
these go together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from opperf.errors import UsageError
from opperf.model import DECLARED
from opperf.requests.declaring import declared
from opperf.requests.operators import Inputs, OperatorGroups, Operators
from opperf.results.kept import is_name as is_kept_name
from opperf.results.run_files import locate as locate_run_file
from opperf.sources.base import is_source, locate
from opperf.sources.selecting import Selection


def shown(name: str) -> str:
    """Returns the option of a field of operators or inputs, or of a setting."""
    fields = {**declared(Operators), **declared(Inputs)}
    return fields[name].shown if name in fields else DECLARED[name].option


def split_sources(words: Iterable[str]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Splits words into operators' names and existing files, which no operator's name can be, or
    which are of cases. Raises `UsageError` for what can be neither."""
    names: list[str] = []
    files: list[Path] = []
    for word in words:
        path = locate_run_file(word)
        located = path if is_kept_name(word) else locate(word)
        if located is not None:
            files.append(located)
        elif path.is_file() and not word.isidentifier() or path.exists() and is_source(path):
            files.append(path)
        elif path.suffix in (".json", ".jsonl"):
            raise UsageError(f"{word}: no such file")
        elif path.is_dir() and not word.isidentifier():
            raise UsageError(f"{word} is a folder; name a file in it")
        else:
            names.append(word)
    return tuple(names), tuple(files)


def select_groups(operators: OperatorGroups) -> Selection:
    """Returns the selection of groups of operators, without their inputs."""
    return Selection(
        exclude=operators.exclude,
        categories=tuple(map(str.lower, operators.categories)),
        namespaces=tuple(map(str.lower, operators.namespaces)),
        tags=tuple(map(str.lower, operators.tags)),
        variants=tuple(map(str.lower, operators.variants)),
    )


def split_shapes(
    shapes: Mapping[str, tuple[int | str, ...]],
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int | str, ...]]]:
    """Splits shapes into those of numbers alone, and those with swept variables."""
    fixed: dict[str, tuple[int, ...]] = {}
    swept: dict[str, tuple[int | str, ...]] = {}
    for name, shape in shapes.items():
        numbers = tuple(extent for extent in shape if isinstance(extent, int))
        if len(numbers) == len(shape):
            fixed[name] = numbers
        else:
            swept[name] = shape
    return fixed, swept


def select_inputs(operators: Operators, inputs: Inputs) -> Selection:
    """Returns the selection of operators and their inputs, without settings."""
    fixed, swept = split_shapes(inputs.shapes)
    return msgspec.structs.replace(
        select_groups(operators),
        patterns=(*operators.names, *operators.ops),
        size=inputs.size.lower(),
        configurations=inputs.configurations,
        int64_tensor=inputs.int64_tensor.lower() == "on",
        fuzz=inputs.fuzz,
        shapes=fixed,
        swept_shapes=swept,
        sweeps=dict(inputs.sweeps),
        values=dict(inputs.values),
    )


FUZZED = ("size", "shapes", "sweeps", "input_function")
"""Fields of a rule's shapes, which random ones replace."""

MADE = ("size", "shapes")
"""Fields of a rule's shapes, which those of a user's function replace."""

LIMITS = ("least_elements", "most_elements")
"""Fields of random shapes only."""


def check_shape_options(given: Collection[str]) -> None:
    """Raises `UsageError` for contradictory options on shapes."""
    if "input_function" in given:
        for name in MADE:
            if name in given:
                raise UsageError(
                    f"{shown(name)} has no effect with --inputs, whose function returns the "
                    "shapes; use only one of them"
                )
    fuzzed = "fuzz_shapes" in given
    for name in FUZZED if fuzzed else LIMITS:
        if name in given:
            fault = "has no effect with --fuzz-shapes; use only one of them"
            raise UsageError(f"{shown(name)} {fault if fuzzed else 'needs --fuzz-shapes'}")


RULE_FIELDS = (
    *("size", "shapes", "values", "input_function", "sweeps", "int64_tensor", "configurations"),
    *("namespaces", "tags", "variants", "fuzz_shapes"),
)
"""Fields of the inputs that rules make, which do not apply to the cases of a file."""


def check_rule_options(path: Path, given: Collection[str]) -> None:
    """Raises `UsageError` for an option on the inputs that rules make."""
    for name in RULE_FIELDS:
        if name in given:
            raise UsageError(
                f"{shown(name)} does not apply to {path}, whose cases have inputs of their own; "
                "omit it, or name operators as well"
            )
