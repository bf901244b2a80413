"""Reads what requests select: sources among their words, groups, shapes and inputs, operators
that changed since a revision, and which of these go together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from opperf.errors import UnknownOperatorError, UsageError
from opperf.model import DECLARED, ListedOperator
from opperf.plurals import pluralize
from opperf.requests.declaring import Say, declared
from opperf.requests.operators import Changed, Inputs, OperatorGroups, Operators
from opperf.results.kept import is_name as is_kept_name
from opperf.results.run_files import locate as locate_run_file
from opperf.sources.base import is_source, locate
from opperf.sources.selecting import INTERNAL, Selection

if TYPE_CHECKING:
    from opperf.changed_operators.mapping import Mapped
    from opperf.worker.client import Worker


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


SAME_CODE = (
    "its file is the same in both arms: make it part of a package, with an __init__.py, that each "
    "arm's environment has"
)

SHOWN = 3
"""Files that are no code which a message names."""


def add_changed(
    changed: Changed,
    operators: Operators,
    framework: str,
    pythons: Iterable[str],
    say: Say,
    *,
    has_inputs: bool,
    config: Path | None = None,
    are_builds: bool = False,
) -> Operators | None:
    """Returns the operators with those whose code changed among the names, and says which file has
    which. None, also said, where nothing is left to measure. `pythons` are interpreters that have
    to know an operator, an empty one is opperf's own; `are_builds` says that two builds are
    compared. Raises `UsageError` and what a worker raises."""
    from opperf.changed_operators.mapping import map_changes
    from opperf.comparison.project_file import find_project_file, read_project_file

    revision = changed.changed_since
    if revision is None:
        if changed.git_folder != Path():
            raise UsageError("--repository is for --changed-since; give both, or neither")
        return operators
    file = find_project_file(Path.cwd()) if config is None else read_project_file(config)
    mapped = map_changes(changed.git_folder, revision, framework, file.changed, Path.cwd())
    interpreters = list(pythons)
    if are_builds and len(interpreters) > 1:
        # Two builds are compared, and a file of the tree is of neither.
        mapped = [_without(entry, _of_files(entry)) for entry in mapped]
    mapped = _known(mapped, framework, has_inputs, interpreters)
    for line in _lines(mapped, revision):
        say(line)
    named = dict.fromkeys(name for entry in mapped for name in entry.operators)
    if not named:
        if not (operators.names or operators.ops):
            say(f"no operator changed since {revision}: nothing is measured")
            return None
        say(f"no operator changed since {revision}: those that are named are measured")
    names = tuple(dict.fromkeys((*operators.names, *named)))
    return msgspec.structs.replace(operators, names=names)


def _known(
    mapped: Iterable[Mapped], framework: str, has_inputs: bool, pythons: Iterable[str]
) -> list[Mapped]:
    from opperf.worker.client import Worker

    listed = list(mapped)
    asked = dict.fromkeys(
        name for entry in listed if not entry.is_chosen for name in entry.operators
    )
    if not asked:
        return listed
    lacking: dict[str, str] = {}
    for python in pythons:
        with Worker(framework, python=python) as worker:
            lacking |= _lacking(worker, asked, has_inputs)
    return [entry if entry.is_chosen else _without(entry, lacking) for entry in listed]


def _lacking(worker: Worker, names: Iterable[str], has_inputs: bool) -> dict[str, str]:
    registry: dict[str, ListedOperator] = {}
    found: dict[str, str] = {}
    for name in names:
        if ":" in name:
            try:
                (entry,) = worker.listing((name,)).operators
            except UnknownOperatorError as error:
                found[name] = str(error)
                continue
            if entry.reason and not has_inputs:
                found[name] = entry.reason
            continue
        if not registry:
            listing = worker.listing()
            registry = {
                known: entry
                for entry in listing.operators
                for known in (*entry.operator.aliases, entry.operator.name)
            }
        if name not in registry:
            found[name] = f"{listing.framework} {listing.version} has no such operator"
        elif registry[name].reason:
            found[name] = registry[name].reason
        elif INTERNAL in (own := registry[name].operator).variants and not own.caller:
            found[name] = "it is internal"
    return found


def _of_files(entry: Mapped) -> dict[str, str]:
    """Returns why the functions of a file that is in no package have no verdict, by name; none of
    those that the project's table names."""
    if entry.is_chosen:
        return {}
    return {name: SAME_CODE for name in entry.operators if name.partition(":")[0].endswith(".py")}


def _without(entry: Mapped, lacking: Mapping[str, str]) -> Mapped:
    left = tuple(name for name in entry.operators if name not in lacking)
    if left or not entry.operators:
        return entry._replace(operators=left)
    first = entry.operators[0]
    more = f" and {len(entry.operators) - 1} more" if len(entry.operators) > 1 else ""
    return entry._replace(operators=(), reason=f"{first}{more}: {lacking[first]}")


def _lines(mapped: Sequence[Mapped], revision: str) -> Iterable[str]:
    for entry in mapped:
        if entry.operators:
            limits = f" ({entry.reason})" if entry.reason else ""
            yield f"{entry.path} -> {', '.join(entry.operators)}{limits}"
    for entry in mapped:
        if not entry.operators and entry.is_code:
            yield f"{entry.path} is not mapped: {entry.reason}"
    others = [entry.path for entry in mapped if not entry.operators and not entry.is_code]
    if others:
        names = ", ".join(others[:SHOWN]) + (", ..." if len(others) > SHOWN else "")
        yield f"{pluralize(len(others), 'file')} without code not mapped: {names}"
    if not mapped:
        yield f"no file changed since {revision}"
