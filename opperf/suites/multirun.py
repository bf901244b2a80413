"""Several runs of a suite, each with other options of the system: the key `multirun` of a system's
file, whose `runs` have a name and a matrix of options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import UsageError
from opperf.suites.fields import check_keys, mapping
from opperf.suites.matrices import MATRIX, NAME, combinations, filled_name
from opperf.suites.nodes import Node, is_file_name, kind_of
from opperf.suites.reading import parse, read_text
from opperf.suites.system import SYSTEM, option_named, typed

MULTIRUN, RUNS = "multirun", "runs"

TIME = "time"
"""Placeholder of names: the seconds since 1970 at which the runs begin."""


class NamedRun(NamedTuple):
    """A run of a suite."""

    name: str
    options: Mapping[str, Any]
    """Values of the system's options by their paths."""

    @property
    def overrides(self) -> tuple[str, ...]:
        """The options as `--override` takes them."""
        return tuple(f"{SYSTEM}.{path}={json.dumps(value)}" for path, value in self.options.items())


def read_multirun(file: Path, time: str) -> tuple[NamedRun, ...]:
    """Returns the runs of a system's file, those of the first matrix first. Raises `UsageError`,
    with the place, for a file that has none, unknown options, and two runs of one name."""
    runs = _runs(file)
    found: dict[str, NamedRun] = {}
    for node in runs.elements():
        for run in _named_runs(node, time):
            if run.name in found:
                raise UsageError(
                    f"{node.at}: two runs are called {run.name}; name what differs: "
                    f"{'-'.join(f'{{{path}}}' for path in run.options)}"
                )
            found[run.name] = run
    return tuple(found.values())


def _runs(file: Path) -> Node:
    root = parse(read_text(str(file)), str(file))
    node = mapping(mapping(root).get(MULTIRUN, Node(None, root.at))).get(RUNS)
    if node is None:
        raise UsageError(f"{file} has no {MULTIRUN}.{RUNS}: a list of runs with name and matrix")
    if not node.elements():
        raise UsageError(f"{node.at}: runs are a list, and this is {kind_of(node)}")
    return node


def _named_runs(node: Node, time: str) -> Iterator[NamedRun]:
    entries = mapping(node)
    check_keys(entries, (NAME, MATRIX))
    for key in (NAME, MATRIX):
        if key not in entries:
            raise UsageError(
                f"{node.at}: a run of {MULTIRUN} has a name and a matrix, and no {key}"
            )
    name = entries[NAME]
    matrix = mapping(entries[MATRIX])
    paths = {key: option_named(key, str(value.at)) for key, value in matrix.items()}
    for point in combinations(entries[MATRIX]):
        options = {
            paths[key]: typed(paths[key], value, str(matrix[key].at))
            for key, value in point.items()
        }
        filled = filled_name(name, {**point, TIME: time})
        if not is_file_name(filled):
            raise UsageError(f"{name.at}: {filled!r} cannot be the name of a run, and of its file")
        yield NamedRun(filled, options)
