"""`--changed-since`: the operators that changed files map to, added to those that are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.changed_operators.mapping import Mapped, map_changes
from opperf.comparison.project_file import find_project_file, read_project_file
from opperf.errors import UnknownOperatorError, UsageError
from opperf.model import ListedOperator
from opperf.plurals import pluralize
from opperf.requests.declaring import Say
from opperf.requests.operators import Changed, Operators
from opperf.sources.selecting import INTERNAL
from opperf.worker.client import Worker

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
    """Returns the files without the operators that no rule makes inputs for, or that an
    interpreter's framework does not have."""
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
    """Returns why operators and functions cannot be measured, by name."""
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
        elif INTERNAL in registry[name].operator.variants:
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
