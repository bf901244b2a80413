"""A project's file of thresholds and tolerances, `opperf.toml` or the table `[tool.opperf]` of
`pyproject.toml`:

    threshold = "5%"

    [tolerance]
    instructions = "1%"
    memory = "2% or 65536"

    [tolerance."conv2d*"]
    instructions = "3%"

    [[blessed]]
    commit = "1f3a9c2"
    operator = "softmax"
    metric = "forward"
    why = "exact results for long rows"

    [changed]
    "src/softmax/*" = ["softmax", "log_softmax"]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from opperf.comparison.tolerances import Rule, Tolerances, make_rule
from opperf.decoding import read_toml
from opperf.errors import UsageError, suggest
from opperf.model import Struct
from opperf.reading import read_text
from opperf.shares import read_share, share_text
from opperf.sources.selecting import make_matcher
from opperf.statistics.data import SAME_FACTOR, Thresholds

NAME, PROJECT = "opperf.toml", "pyproject.toml"

TABLE = ("tool", "opperf")
"""The table of `pyproject.toml`."""

ROOT = ".git"
"""Only the last folder that is searched has it: a file above is another project's."""


Value = TypeVar("Value")


class Blessing(Struct, frozen=True, forbid_unknown_fields=True):
    """A change that is accepted: of the commit, or the beginning of its id, and if they are named
    of a case's id, an operator's name or pattern, a metric."""

    commit: str
    why: str
    case: str = ""
    operator: str = ""
    metric: str = ""


class ProjectFile(Struct, frozen=True):
    """The content of such a file."""

    path: Path | None = None
    threshold: float | None = None
    same_within: float | None = None
    rules: tuple[Rule, ...] = ()
    blessed: tuple[Blessing, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = {}
    """Operators by glob of the files whose changes they are measured for."""


class Limits(Struct, frozen=True):
    """The thresholds and tolerances of the user's options, or else of the project's file."""

    threshold: float | None = None
    same_within: float | None = None
    tolerances: Tolerances = Tolerances()
    path: str = ""
    """The project's file as a reader finds it; empty without one."""

    @property
    def thresholds(self) -> Thresholds:
        """Those of a session, of which what counts as the same follows the threshold."""
        threshold = Thresholds().threshold if self.threshold is None else self.threshold
        same = SAME_FACTOR * threshold if self.same_within is None else self.same_within
        return Thresholds(threshold=threshold, same_within=same)


def make_limits(
    file: ProjectFile,
    threshold: float | None,
    tolerances: Iterable[Rule],
    same_within: float | None = None,
) -> Limits:
    """Returns the limits of a file and of options, which take its place."""
    threshold = file.threshold if threshold is None else threshold
    return Limits(
        threshold,
        # A file's share of the same does not fit another threshold than the file's own.
        file.same_within if same_within is None and threshold == file.threshold else same_within,
        Tolerances(threshold, (*file.rules, *tolerances)),
        "" if file.path is None else os.path.relpath(file.path),
    )


def find_project_file(folder: Path) -> ProjectFile:
    """Returns the nearest file, in the folder or above, up to that of the repository."""
    for place in (folder, *folder.parents):
        for path in (place / NAME, place / PROJECT):
            if path.is_file() and (found := _read(path)) is not None:
                return found
        if (place / ROOT).exists():
            break
    return ProjectFile()


def read_project_file(path: Path) -> ProjectFile:
    """Returns a file's content. Raises `UsageError` for a wrong file, key or value."""
    found = _read(path)
    if found is None:
        raise UsageError(f"{path} has no table [{'.'.join(TABLE)}]")
    return found


def _read(path: Path) -> ProjectFile | None:
    """Returns a file's content; None for a `pyproject.toml` without the table."""
    try:
        table: Any = read_toml(read_text(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    if path.name != PROJECT:
        return _parse(path, table, "")
    for key in TABLE:
        table = table.get(key) if isinstance(table, dict) else None
    return None if table is None else _parse(path, table, ".".join(TABLE))


def _parse(path: Path, table: Any, place: str) -> ProjectFile:
    entries = _entries(path, place, table)
    for key in entries:
        if key not in KEYS:
            raise UsageError(
                f"{path}: {_at(place, key)} is no key here{suggest(key, KEYS)}; "
                f"known: {', '.join(KEYS)}"
            )
    found = {
        field: read(path, _at(place, key), entries[key])
        for key, (field, read) in KEYS.items()
        if key in entries
    }
    file = ProjectFile(path, **found)
    shares = make_limits(file, None, ()).thresholds
    if shares.same_within < shares.threshold:
        raise UsageError(
            f"{path}: {_at(place, 'same-within')}: {share_text(shares.same_within)} is below the "
            f"threshold {share_text(shares.threshold)}, so that a change could be both"
        )
    return file


def _entries(path: Path, place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {place} is a table of keys, not {value!r}")
    return value


def _at(place: str, key: str) -> str:
    """Returns the path of a key, quoted as TOML has it."""
    bare = key.replace("_", "").replace("-", "")
    shown = key if bare.isalnum() and bare.isascii() else f'"{key}"'
    return f"{place}.{shown}" if place else shown


def _rules(path: Path, place: str, value: Any) -> tuple[Rule, ...]:
    """Returns the rules of the table of tolerances. What is a table in it is an operator's."""
    found: list[Rule] = []
    for key, one in _entries(path, place, value).items():
        there = _at(place, key)
        if not isinstance(one, dict):
            found.append(_placed(path, there, make_rule, key, one))
            continue
        for metric, tolerance in one.items():
            found.append(_placed(path, _at(there, metric), make_rule, metric, tolerance, key))
    return tuple(found)


def _blessings(path: Path, place: str, value: Any) -> tuple[Blessing, ...]:
    """Returns the accepted changes, which the history reads."""
    if not isinstance(value, list):
        raise UsageError(f"{path}: {place} is a list of tables [[{place}]], not {value!r}")
    found = []
    for number, table in enumerate(value):
        try:
            blessing = msgspec.convert(table, Blessing)
        except msgspec.ValidationError as error:
            raise UsageError(f"{path}: {place}[{number}]: {error}") from error
        if not (blessing.commit and blessing.why):
            raise UsageError(f"{path}: {place}[{number}] needs a commit and a reason, `why`")
        _placed(path, f"{place}[{number}]", make_matcher, blessing.operator, ())
        found.append(blessing)
    return tuple(found)


def _changed(path: Path, place: str, value: Any) -> dict[str, tuple[str, ...]]:
    """Returns the operators of files, which `--changed-since` reads."""
    found = {}
    for glob, names in _entries(path, place, value).items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise UsageError(
                f"{path}: {_at(place, glob)} is a list of operators, not {names!r}; "
                '["softmax", "log_softmax"]'
            )
        found[glob] = tuple(names)
    return found


def _placed(path: Path, place: str, read: Callable[..., Value], *values: Any) -> Value:
    try:
        return read(*values)
    except (UsageError, ValueError) as error:
        raise UsageError(f"{path}: {place}: {error}") from error


def _share(path: Path, place: str, value: Any) -> float:
    return _placed(path, place, read_share, value)


KEYS: dict[str, tuple[str, Callable[[Path, str, Any], Any]]] = {
    "threshold": ("threshold", _share),
    "same-within": ("same_within", _share),
    "tolerance": ("rules", _rules),
    "blessed": ("blessed", _blessings),
    "changed": ("changed", _changed),
}
"""Keys of the file, each with its field and how its value is read."""
