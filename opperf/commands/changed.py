"""`--changed-since`: the operators that changed files map to, added to those that are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.changed_operators.mapping import Mapped, map_changes
from opperf.commands.environments import install_arm, read_locked
from opperf.comparison.ab.arms import arm_spec, name_arms
from opperf.comparison.project_file import find_project_file, read_project_file
from opperf.errors import UnknownOperatorError, UsageError
from opperf.model import Interpreter, ListedOperator
from opperf.plurals import pluralize
from opperf.results.messages import tell
from opperf.sources.selecting import INTERNAL
from opperf.worker.client import Worker

SAME_CODE = (
    "its file is the same in both arms: make it part of a package, with an __init__.py, that each "
    "arm's environment has"
)

SHOWN = 3
"""Files that are no code which a message names."""


def interpreters_of(options: Mapping[str, Any]) -> list[str]:
    """Returns the paths of the interpreters of a run; an empty one for opperf's own."""
    pythons: Sequence[Interpreter] = options["python"]
    return list(dict.fromkeys(entry.path for entry in pythons)) or [""]


def interpreters_of_arms(options: Mapping[str, Any]) -> list[str]:
    """Returns those of the arms, whose environments are installed. Raises `UsageError`, and
    `InstallationError`. None are asked for without `--changed-since`."""
    if options["changed_since"] is None:
        return []
    locked = read_locked(options["locked"])
    named = name_arms(options["a"], options["b"], options["arm"])
    arms = (arm_spec(settings, option) for option, settings in named.values())
    return list(dict.fromkeys(install_arm(arm, locked, tell).python for arm in arms))


def add_changed(options: Mapping[str, Any], pythons: Iterable[str]) -> dict[str, Any] | None:
    """Returns the options with the operators of `--changed-since` among the names, and says which
    file has which. None, also said, where nothing is left to measure. `pythons` are interpreters
    that have to know an operator. Raises `UsageError` and what a worker raises."""
    revision: str | None = options["changed_since"]
    if revision is None:
        if options["git_folder"] != Path():
            raise UsageError("--repository is for --changed-since; give both, or neither")
        return dict(options)
    if options["resume"] is not None:
        raise UsageError("--changed-since selects what begins; what is resumed has its own cases")
    config: Path | None = options.get("config")
    file = find_project_file(Path.cwd()) if config is None else read_project_file(config)
    here = Path.cwd()
    mapped = map_changes(options["git_folder"], revision, options["framework"], file.changed, here)
    interpreters = list(pythons)
    if "b" in options and len(interpreters) > 1:
        # Two builds are compared, and a file of the tree is of neither.
        mapped = [_without(entry, _of_files(entry)) for entry in mapped]
    mapped = _known(mapped, options, interpreters)
    if not options["quiet"]:
        for line in _lines(mapped, revision):
            tell(line)
    named = dict.fromkeys(name for entry in mapped for name in entry.operators)
    if not named:
        if not (options["names"] or options["ops"]):
            tell(f"no operator changed since {revision}: nothing is measured")
            return None
        tell(f"no operator changed since {revision}: those that are named are measured")
    return {**options, "names": tuple(dict.fromkeys((*options["names"], *named)))}


def _known(
    mapped: Iterable[Mapped], options: Mapping[str, Any], pythons: Iterable[str]
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
        with Worker(options["framework"], python=python) as worker:
            lacking |= _lacking(worker, asked, bool(options["input_function"]))
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
