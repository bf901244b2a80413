"""Logs of operator inputs as a source: `Operator: aten.mm.default`, then for each distinct input of
that operator `cnt: 24, ((T([128, 64], f16), T([64, 10], f16)), {})`, as PyTorch's
`operator_inp_utils` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from opperf.errors import UsageError, one_line
from opperf.model import Case, OperatorTarget, Settings
from opperf.reading import READ_WHOLE, open_file, read_text
from opperf.sources.base import Completion
from opperf.sources.call_dtype import call_dtype
from opperf.sources.logged_arguments import read_arguments

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


class InputLog:
    """The calls of a log, in its order. Reads the whole file at once, so that nothing is measured
    of a file with an error."""

    completion: Completion = "each"

    def __init__(self, path: Path) -> None:
        self.excluded: dict[str, str] = {}
        self._cases = list(_read(path))
        if not self._cases:
            raise UsageError(f"{path}: no call in it; a line of one begins with `cnt: `")

    def cases(self) -> Iterator[Case]:
        yield from self._cases


def _read(path: Path) -> Iterator[Case]:
    """Yields the cases of a file. Raises `UsageError` with file and line."""
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
    """Returns a file's lines, without white space around them. Raises `UsageError`."""
    try:
        text = read_text(path, READ_WHOLE)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None
    return [line.strip() for line in text.splitlines()]


def _case(target: OperatorTarget, text: str, count: int, path: Path, place: str) -> Case:
    """Returns the case of a call. Raises `UsageError`."""
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


class InputLogs:
    """Logs of operator inputs."""

    name = "log of operator inputs (Operator: NAME, then cnt: N, (ARGS, KWARGS))"

    def recognizes(self, path: Path) -> bool:
        """Whether the first line that is not empty begins as such a log's."""
        with open_file(path) as file:
            first = file.read(HEAD).lstrip()
        return first.startswith(BEGIN.encode())

    def open(self, path: Path) -> InputLog:
        return InputLog(path)


def source() -> InputLogs:
    """Returns the kind of file; called by name, as an entry point is."""
    return InputLogs()
