"""Expansion of matrices: an entry with `matrix` and `job` becomes a bench for each combination."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import UsageError, one_line, suggest
from opperf.suites.bench import Location
from opperf.suites.fields import check_keys, mapping
from opperf.suites.reading import Node, is_file_name, kind_of, merge, parse, placed, read_text
from opperf.suites.system import SYSTEM, option_named, typed

MATRIX, JOB, EXCLUDE, ZIP, NAME = "matrix", "job", "exclude", "zip", "name"

EXPANDED = (MATRIX, JOB, EXCLUDE, ZIP)
"""Keys of which the jobs have none."""

MOST_JOBS = 10_000
"""Of a matrix: more take days to run, and are rather a key too many."""

FIELD = re.compile(r"\{([\w.-]+)(?:!([rs]))?(?::([^{}]*))?\}")
"""A key in braces, with a conversion and a format as Python has them."""

WIDE = re.compile(r"[^\D0]\d{3}")
"""A width or precision of four digits, in any script, as Python takes them; a zero before it is a
flag. It only makes a text long."""

LONGEST_TEXT = 1 << 17
"""Characters of a text with the values of a matrix: Linux gives a program no longer argument."""

LONGEST_SHOWN = 60
"""Characters of a wrong format that a message has."""

AS_TEXT = ("argv", "client", "server", "name", "requires_capabilities")
"""Keys of a job in which a value of the matrix is text also where it stands alone: as arguments,
true is a flag and false an error."""


@dataclass(frozen=True)
class Point:
    """A value of each key of a matrix."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def matches(self, pattern: Mapping[str, Sequence[Any]]) -> bool:
        """Whether the value of each key of a pattern is among those that the pattern has."""
        return all(self.values[key] in allowed for key, allowed in pattern.items())

    def name(self, node: Node | None, matrix: str) -> str:
        """Returns the name of a job, by default the matrix's with all values. Raises `UsageError`
        for a key that the point does not have, and for what is no text."""
        if node is None:
            return "-".join([matrix, *map(str, self.values.values())])
        if not isinstance(node.content, str):
            raise UsageError(f"{node.at}: a name is text, and this is {kind_of(node)}")
        for key, _, _ in FIELD.findall(node.content):
            _check_key(key, self.values, node.at)
        return self._format(node)

    def fill(self, node: Node, top: str) -> Node:
        """Returns a value of a job's key `top`, and all in it, with the point's values for their
        keys."""
        if isinstance(node.content, dict):
            return Node(
                {
                    self._format(Node(key, element.at)): self.fill(element, top)
                    for key, element in node.content.items()
                },
                node.at,
            )
        if isinstance(node.content, list):
            return Node([self.fill(element, top) for element in node.content], node.at)
        if not isinstance(node.content, str) or "{" not in node.content:
            return node
        whole = FIELD.fullmatch(node.content)
        if whole and whole[1] in self.values and top not in AS_TEXT and not (whole[2] or whole[3]):
            return placed(self.values[whole[1]], node.at)
        return Node(self._format(node), node.at)

    def _format(self, node: Node) -> str:
        text: str = node.content
        size = len(text)

        def replaced(match: re.Match[str]) -> str:
            nonlocal size
            key, conversion, form = match[1], match[2], match[3]
            if key not in self.values:
                return match[0]
            value = repr(self.values[key]) if conversion == "r" else self.values[key]
            shown = one_line(match[0], LONGEST_SHOWN)
            if WIDE.search(form or ""):
                raise UsageError(
                    f"{node.at}: {shown}: a width or precision has at most three digits"
                )
            try:
                made = format(value, form) if form else str(value)
            except (ValueError, TypeError) as error:
                raise UsageError(f"{node.at}: {shown}: {error}") from error
            size += len(made)
            if size > LONGEST_TEXT:
                raise UsageError(
                    f"{node.at}: it has more than {LONGEST_TEXT:,} characters with the values of "
                    "the matrix"
                )
            return made

        return FIELD.sub(replaced, text)


class Expanded(NamedTuple):
    """Entries of a suite, and what became of its matrices."""

    entries: dict[str, Node]
    points: dict[str, Point]
    """Values of the matrix, by the name of a job."""
    origins: dict[str, str]
    """Name of the matrix, by that of a job."""


def expand(entries: Mapping[str, Node]) -> Expanded:
    """Returns the entries with a bench for each job of a matrix. Raises `UsageError` for a matrix
    without job, a job without matrix, and two benches of one name."""
    found = Expanded({}, {}, {})
    for name, entry in entries.items():
        own = entry.entries()
        if not own.keys() & {MATRIX, JOB}:
            for key in (EXCLUDE, ZIP):
                if key in own:
                    raise UsageError(f"{own[key].at}: it is for a matrix, and {name} has none")
            _add(found.entries, name, entry)
            continue
        for needed, there in ((JOB, MATRIX), (MATRIX, JOB)):
            if needed not in own:
                raise UsageError(f"{own[there].at}: {name} has a {there} and no {needed}")
        if not isinstance(own[JOB].content, dict):
            raise UsageError(f"{own[JOB].at}: a job is a mapping, and this is {kind_of(own[JOB])}")
        beside = {key: value for key, value in own.items() if key not in EXPANDED}
        points = list(combinations(own[MATRIX], own.get(ZIP), own.get(EXCLUDE)))
        if not points:
            raise UsageError(f"{own[EXCLUDE].at}: it excludes all jobs of {name}")
        for point in points:
            job = dict(own[JOB].entries())
            job_name = point.name(job.pop(NAME, None), name)
            filled = Node(
                {key: point.fill(element, key) for key, element in job.items()}, own[JOB].at
            )
            _add(found.entries, job_name, merge(Node(beside, entry.at), filled))
            found.points[job_name] = point
            found.origins[job_name] = name
    return found


def _add(entries: dict[str, Node], name: str, entry: Node) -> None:
    if name in entries:
        before = entries[name].at
        raise UsageError(f"{entry.at}: two benches are called {name}; the other is at {before}")
    entries[name] = entry


def combinations(
    matrix: Node, zipped: Node | None = None, excluded: Node | None = None
) -> Iterator[Point]:
    """Yields the points of a matrix, of which the first key varies fastest. Keys that are zipped
    vary together. Raises `UsageError` for a matrix that is none."""
    if not isinstance(matrix.content, dict) or not matrix.content:
        raise UsageError(f"{matrix.at}: a matrix is a mapping of keys to their values")
    values = {key: _values(node) for key, node in matrix.content.items()}
    axes = list(_axes(matrix, values, zipped))
    without = list(_excluded(excluded, values))
    jobs = math.prod(map(len, axes))
    if jobs > MOST_JOBS:
        raise UsageError(f"{matrix.at}: {jobs} combinations; a matrix has at most {MOST_JOBS}")
    # Later keys are loops around earlier ones.
    for chosen in itertools.product(*reversed(axes)):
        united = {key: value for part in chosen for key, value in part.items()}
        point = Point({key: united[key] for key in values})
        if not any(map(point.matches, without)):
            yield point


def _values(node: Node) -> list[Any]:
    plain = node.plain()
    values = plain if isinstance(plain, list) else [plain]
    if not values:
        raise UsageError(f"{node.at}: it has no values")
    return values


def _axes(
    matrix: Node, values: Mapping[str, list[Any]], zipped: Node | None
) -> Iterator[list[dict[str, Any]]]:
    groups = [] if zipped is None else list(_zipped(zipped, values))
    done: set[str] = set()
    for key in values:
        group = next((names for names in groups if key in names), (key,))
        if key in done:
            continue
        done.update(group)
        lengths = {len(values[name]) for name in group}
        if zipped is not None and len(lengths) > 1:
            texts = ", ".join(f"{name} has {len(values[name])}" for name in group)
            raise UsageError(f"{zipped.at}: zipped keys have the same number of values: {texts}")
        yield [
            dict(zip(group, row, strict=True))
            for row in zip(*(values[name] for name in group), strict=True)
        ]


def _zipped(node: Node, values: Collection[str]) -> Iterator[tuple[str, ...]]:
    groups = node.elements()
    if not groups:
        raise UsageError(f"{node.at}: zip is a list of keys, and this is {kind_of(node)}")
    if not isinstance(groups[0].content, list):
        groups = [node]
    taken: set[str] = set()
    for group in groups:
        names = tuple(str(element.content) for element in group.elements())
        for name in names:
            _check_key(name, values, group.at)
            if name in taken:
                raise UsageError(f"{group.at}: {name} is zipped twice")
            taken.add(name)
        yield names


def _excluded(node: Node | None, values: Collection[str]) -> Iterator[dict[str, list[Any]]]:
    if node is None:
        return
    for element in node.elements() if isinstance(node.content, list) else [node]:
        if not isinstance(element.content, dict) or not element.content:
            raise UsageError(f"{element.at}: what is excluded is a mapping of keys to values")
        for key, value in element.content.items():
            _check_key(key, values, value.at)
        yield {key: _values(value) for key, value in element.content.items()}


def _check_key(name: str, values: Collection[str], at: Location) -> None:
    if name not in values:
        raise UsageError(f"{at}: the matrix has no key {name}{suggest(name, values)}")


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
            for key, value in point.values.items()
        }
        filled = Point({**point.values, TIME: time}).name(name, "")
        if not is_file_name(filled):
            raise UsageError(f"{name.at}: {filled!r} cannot be the name of a run, and of its file")
        yield NamedRun(filled, options)
