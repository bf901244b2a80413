"""Values of other tools' files: JSON in the form that it should have, or an error with the file and
the key path of what is wrong; times, ids of commits, and units, with opperf's for them."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from opperf import reading
from opperf.decoding import read_json
from opperf.errors import RunFileError, one_line
from opperf.model import MetricKind

T = TypeVar("T")

SHA = re.compile(r"[0-9a-fA-F]{4,64}")
"""Id of a commit, or the beginning of one: git takes no shorter ones, and those of SHA-256 have
64."""

LAST_SECOND = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc).timestamp()
"""Seconds of the latest time that has a date."""

LONGEST_LABEL = 400
"""Characters of a name that are kept for tables; the id of its case is of the whole name."""


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raises `RunFileError` for a file that cannot be read."""
    try:
        yield
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file. Raises `RunFileError` for one that cannot be read."""
    with readable(path):
        return reading.read_bytes(path, reading.READ_WHOLE)


def read_form(path: Path, form: type[T]) -> T:
    """Returns the JSON of a file in its form. Raises `RunFileError` for what is wrong."""
    return as_form(parse(read_bytes(path), path), form, path)


def parse(text: bytes, path: Path) -> Any:
    """Returns the value of a text of JSON, which may have NaN. Raises `RunFileError` with the line
    and column of what is wrong."""
    try:
        return read_json(text)
    except ValueError as error:
        raise RunFileError(f"{path} is no whole JSON: {one_line(str(error))}") from error


def as_form(value: Any, form: type[T], path: Path, at: str = "") -> T:
    """Returns a value of JSON in its form; `at` is its key path in the file. Raises `RunFileError`
    with the key path of what is wrong."""
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        inner = where.rstrip("`")
        place = f"{at}{inner}" if at else inner.removeprefix(".")
        raise wrong(path, place, f"{what[:1].lower()}{what[1:]}") from error
    except OverflowError as error:
        raise wrong(path, at, "a number is too large") from error


def wrong(path: Path, at: str, what: str) -> RunFileError:
    """Returns the error for a value at a key path of a file."""
    place = f"{path}: {one_line(at, 120)}" if at else str(path)
    return RunFileError(f"{place}: {one_line(what)}")


def read_seconds(value: float | str | None, path: Path, at: str, unit: float = 1.0) -> float:
    """Returns a time, a number in some unit of seconds or a text of ISO 8601, in seconds since
    1970; NaN without one. Raises `RunFileError` for what is none."""
    if value is None or value == "":
        return math.nan
    if isinstance(value, str):
        try:
            when = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError as error:
            raise wrong(path, at, f"{one_line(value, 40)!r} is no time of ISO 8601") from error
        # A time without a zone is UTC, as tools that leave it out have it.
        zoned = when if when.tzinfo else when.replace(tzinfo=datetime.timezone.utc)
        return zoned.timestamp()
    seconds = float(value) * unit
    if not 0 <= seconds <= LAST_SECOND:
        raise wrong(path, at, f"{value} is no time since 1970")
    return seconds


def read_sha(text: str, path: Path, at: str) -> str:
    """Returns the id of a commit. Raises `RunFileError` for what is none."""
    if not SHA.fullmatch(text):
        raise wrong(path, at, f"{one_line(text, 40)!r} is no id of a commit")
    return text.lower()


def label(text: str) -> str:
    """Returns a text of a file as tables may have it: one line, without control characters."""
    if text.isprintable() and len(text) <= LONGEST_LABEL:
        # As nearly all are.
        return text
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return one_line(printable, LONGEST_LABEL)


TIME, MEMORY = "ns", "B"


class Known(NamedTuple):
    """A unit, in one that opperf measures in."""

    unit: str
    size: float
    """Of one of it, in that unit."""


NAMES: Mapping[Known, str] = {
    Known(TIME, 1.0): "ns nsec nanosecond nanoseconds",
    Known(TIME, 1e3): "us µs μs usec microsecond microseconds",
    Known(TIME, 1e6): "ms msec millisecond milliseconds",
    Known(TIME, 1e9): "s sec secs second seconds",
    Known(MEMORY, 1.0): "B byte bytes",
    Known(MEMORY, 1e3): "kB KB",
    Known(MEMORY, 1e6): "MB",
    Known(MEMORY, 1e9): "GB",
    Known(MEMORY, 2.0**10): "KiB",
    Known(MEMORY, 2.0**20): "MiB",
    Known(MEMORY, 2.0**30): "GiB",
}

UNITS = {name: known for known, names in NAMES.items() for name in names.split()}

OF_ONE = re.compile(r"\s*/\s*(iter|op|call|loop)\Z")
"""Ending of a unit of one iteration, which every figure is of."""

RATE = re.compile(
    r"/\s*s(ec)?\Z|per.?sec|\b(ops|fps|qps|throughput|bandwidth|speed-?up)\b", re.IGNORECASE
)
"""In a unit, or in the name of a metric, for which larger is better."""


def known_unit(name: str) -> Known:
    """Returns a unit in opperf's: itself, as it is, if that has none for it."""
    text = name.strip()
    return UNITS.get(OF_ONE.sub("", text), Known(text, 1.0))


def is_rate(text: str) -> bool:
    """Whether more of a unit, or of what a metric's name says, is better."""
    return RATE.search(text.replace("_", " ")) is not None


def kind_of(unit: str) -> MetricKind:
    """Returns the kind of a metric of another tool: of what is no time it is not known that it is
    the same on every run."""
    return MetricKind.WALL if unit == TIME else MetricKind.DERIVED
