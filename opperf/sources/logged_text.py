"""Logs of operator inputs as a source: `Operator: aten.mm.default`, then for each distinct input of
that operator `cnt: 24, ((T([128, 64], f16), T([64, 10], f16)), {})`, as PyTorch's
`operator_inp_utils` writes them. `logged_arguments` reads the arguments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import UsageError, one_line
from opperf.model import (
    Argument,
    Case,
    Device,
    DType,
    Generator,
    MemoryFormat,
    Number,
    OperatorTarget,
    Settings,
    TensorSpec,
)
from opperf.reading import READ_WHOLE, open_file, read_text
from opperf.sources.base import FileSource, Source, call_dtype
from opperf.sources.logged_arguments import DTYPES, MEMORY_FORMATS, STRIDED, read_arguments

DTYPE_NAMES = {name: short for short, name in DTYPES.items()}
FORMAT_NAMES = {name: theirs for theirs, name in MEMORY_FORMATS.items()}


class Unwritable(Exception):
    """A value that the notation does not have; its text says what it is."""


class Written(NamedTuple):
    """A log, and what the notation does not say of its calls."""

    text: str
    cases: int
    calls: int
    omitted: dict[str, int]
    """Calls that are not in it, by what they have."""
    changed: int
    """Distinct calls that are read as others: without storages, places in them, contents,
    devices."""


def log_text(cases: Iterable[Case], keywords: Mapping[tuple[str, str], Collection[str]]) -> Written:
    """Returns a log of calls. `keywords` are the names of the arguments that are by keyword only,
    by the path and overload of the operators whose others are by position."""
    lines: dict[str, list[str]] = {}

    def add(case: Case) -> bool:
        operator = _operator_text(case)
        text = arguments_text(case.arguments, keywords.get(_key(case)))
        lines.setdefault(operator, []).append(f"cnt: {case.count}, {text}")
        unnamed, named = read_arguments(text)
        return list(case.arguments.values()) != [*unnamed, *named.values()]

    return write_cases(
        cases,
        add,
        lambda: "".join(
            "\n".join([f"Operator: {operator}", *calls]) + "\n" for operator, calls in lines.items()
        ),
    )


def write_cases(
    cases: Iterable[Case], add: Callable[[Case], bool], text: Callable[[], str]
) -> Written:
    """Returns what is written of cases. `add` adds one, and says whether it is read as another one,
    or raises `Unwritable`; `text` returns the whole."""
    made: list[int] = []
    omitted: Counter[str] = Counter()
    changed = 0
    for case in cases:
        try:
            changed += add(case)
            made.append(case.count)
        except Unwritable as error:
            omitted[str(error)] += case.count
    return Written(text(), len(made), sum(made), dict(omitted), changed)


def _key(case: Case) -> tuple[str, str]:
    target = case.target
    assert isinstance(target, OperatorTarget)
    return target.name, target.overload


def _operator_text(case: Case) -> str:
    target = case.target
    if not isinstance(target, OperatorTarget) or not target.overload:
        raise Unwritable("an operator whose overload is not known")
    text = f"{target.name}.{target.overload}"
    if not OPERATOR.fullmatch(f"{BEGIN}{text}"):
        raise Unwritable("an operator with a name that a log cannot have")
    return text


def arguments_text(arguments: Mapping[str, Argument], keywords: Collection[str] | None) -> str:
    """Returns the arguments of a call, `(args, kwargs)`. `keywords` are the names of those that are
    by keyword only; None if that is not known, and all are by name. Raises `Unwritable`."""
    positional, named = split(arguments, lambda name: keywords is not None and name not in keywords)
    pairs = (f"{name!r}: {value_text(value)}" for name, value in named.items())
    return f"({_tuple_text(positional)}, {{{', '.join(pairs)}}})"


def split(
    arguments: Mapping[str, Argument], is_positional: Callable[[str], bool]
) -> tuple[list[Argument], dict[str, Argument]]:
    """Returns the arguments by position, and those by name: those that may not be by position, and
    what follows one that is omitted. Raises `Unwritable` if that has no name."""
    positional: list[Argument] = []
    named: dict[str, Argument] = {}
    for index, (name, value) in enumerate(arguments.items()):
        if isinstance(value, LEFT_OUT):
            continue
        follows = len(positional) == index
        if follows and (name.isdecimal() or is_positional(name)):
            positional.append(value)
        elif name.isdecimal():
            raise Unwritable("an argument without a name after one that cannot be written")
        else:
            named[name] = value
    return positional, named


LEFT_OUT = (Generator, Device)
"""Arguments that a call has without the notation: the random numbers are others, and the device is
that of the run."""


def _tuple_text(values: Iterable[Argument]) -> str:
    texts = [value_text(value) for value in values]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def value_text(value: Any) -> str:
    """Returns a value in the notation. Raises `Unwritable`."""
    for kind, make in TEXTS.items():
        if isinstance(value, kind):
            return make(value)
    raise Unwritable(f"an argument of the type {type(value).__name__}")


def _tensor_text(spec: TensorSpec) -> str:
    if spec.layout != "dense":
        raise Unwritable("a sparse tensor")
    dtype = DTYPE_NAMES.get(spec.dtype, f"torch.{spec.dtype}")
    strides = f", stride={_tuple_text(spec.strides)}" if spec.strides else ""
    return f"T({list(spec.shape)}, {dtype}{strides})"


TEXTS: Mapping[type[Any], Callable[[Any], str]] = {
    TensorSpec: _tensor_text,
    tuple: lambda values: f"[{', '.join(map(value_text, values))}]",
    DType: lambda dtype: f"torch.{dtype.name}",
    MemoryFormat: lambda order: f"torch.{FORMAT_NAMES[order.name]}",
    Number: lambda number: str(number.value) if number.imaginary else number.real,
    str: lambda text: f"torch.{STRIDED}" if text == STRIDED else repr(text),
    bool: repr,
    int: repr,
    float: repr,
    type(None): repr,
}
"""Functions that write a value, by its type."""


OPERATOR = re.compile(r"Operator: (?P<path>\w+\.\w+)\.(?P<overload>\w+)")
CALL = re.compile(r"cnt: (?P<count>\d+), (?P<arguments>.*)")

BEGIN = "Operator: "
"""The first characters of a log."""

FRAMEWORK = "torch"
"""The framework that writes such logs."""

HEAD = 1 << 16
"""Bytes at the beginning of a file by which it is recognised."""

LONGEST_SHOWN = 60
"""Characters of a wrong line that a message has."""


class InputLog(Source):
    """The calls of a log, read at once, so that nothing is measured of one with an error."""

    completion = "each"

    def __init__(self, path: Path) -> None:
        super().__init__(_read(path))
        if not self._cases:
            raise UsageError(f"{path}: no call in it; a line of one begins with `cnt: `")


def _read(path: Path) -> Iterator[Case]:
    target: OperatorTarget | None = None
    for number, line in enumerate(_lines(path), 1):
        place = f"{path}:{number}"
        if operator := OPERATOR.fullmatch(line):
            target = OperatorTarget(FRAMEWORK, operator["path"], operator["overload"])
        elif call := CALL.fullmatch(line):
            if target is None:
                raise UsageError(f"{place}: a call before the first line `{BEGIN}NAME`")
            yield _case(target, call["arguments"], int(call["count"]), path, place)
        elif line:
            raise UsageError(
                f"{place}: expected `Operator: NAMESPACE.NAME.OVERLOAD` or `cnt: COUNT, (ARGS, "
                f"KWARGS)`, not {line[:LONGEST_SHOWN]!r}"
            )


def _lines(path: Path) -> list[str]:
    try:
        text = read_text(path, READ_WHOLE)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None
    return [line.strip() for line in text.splitlines()]


def _case(target: OperatorTarget, text: str, count: int, path: Path, place: str) -> Case:
    try:
        unnamed, named = read_arguments(text)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    if not count:
        raise UsageError(f"{place}: a count of 0; each call in a log was made")
    arguments = {**{str(i): value for i, value in enumerate(unnamed)}, **named}
    return Case(
        target=target,
        arguments=arguments,
        settings=Settings(dtype=call_dtype(arguments.values())),
        # A backward operator is a call of its own.
        passes=("forward",),
        origin=place,
        why=f"{count:,} calls in {path.stem}" if count > 1 else f"1 call in {path.stem}",
        count=count,
    )


class InputLogs(FileSource):
    """Logs of operator inputs."""

    name = "log of operator inputs (Operator: NAME, then cnt: N, (ARGS, KWARGS))"

    def recognizes(self, path: Path) -> bool:
        """Whether the first line that is not empty begins as such a log's."""
        with open_file(path) as file:
            first = file.read(HEAD).lstrip()
        return first.startswith(BEGIN.encode())

    def open(self, path: Path) -> InputLog:
        return InputLog(path)
