"""Reads files in callgrind's format: https://valgrind.org/docs/manual/cl-format.html.

Source lines and addresses are passed over: counts are added up by function. So are jumps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

from opperf.errors import CallgrindError, one_line
from opperf.plurals import pluralize
from opperf.reading import lines_of, open_file

UNKNOWN = "???"
"""Name of an object or source file that callgrind does not know."""

COST = frozenset("0123456789+-*")
"""First characters of lines of counts, which begin with a position."""

POSITIONS = frozenset({"instr", "bb", "line"})

NUMBERED = re.compile(r"\((\d+)\)\s*(.*)")
"""A name in its compressed form: its number, and the first time the name."""

RECURSION = re.compile(r"(.+)'(\d+)")
"""A function's name in a call that is nested in another of the same function, `visit'2`."""

ABI = re.compile(r"\.(cpython|pypy)[\w-]+(?=\.so$)")
"""The interpreter and machine in the name of an extension module, which differ between Pythons."""

HEADER = re.compile(r"([a-z]+):\s*(.*)")

CALLS = re.compile(r"Trigger:.*\bcalls=(\d+)")
OVERHEAD = re.compile(r"Trigger:.*\boverhead=(\d+)")
"""In the description of opperf's dumps: calls, and the counts of as many empty calls."""

Counts = list[int]
"""A number for each event."""


class Node(NamedTuple):
    """A function, apart from the calls of it that are nested in another call of it."""

    name: str
    level: int
    """1; 2 and more in nested calls, which callgrind counts apart."""
    object: str
    """Name of the program or library, without its folder and tag, in which builds differ."""


@dataclass
class Call:
    """All calls of a function from another."""

    number: int
    counts: Counts


class Dump(NamedTuple):
    """The content of a file in callgrind's format, its parts added up."""

    path: Path
    events: tuple[str, ...]
    """Names of what is counted, `Ir` first where instructions are."""
    nodes: tuple[Node, ...]
    own: list[Counts]
    """By node: counts of its own code, without its callees."""
    edges: dict[tuple[int, int], Call]
    """By caller and callee, places in `nodes`."""
    files: dict[int, str]
    """Source file of each node with code of its own, by its place; `???` if it is not known."""
    calls: int
    overhead: int | None
    """Counts of the first event of a loop of as many empty calls, which are in the dump too."""

    @property
    def total(self) -> Counts:
        return [sum(column) for column in zip(*self.own, strict=True)] or [0] * len(self.events)


def read_dump(path: Path) -> Dump:
    """Returns a file's content. Raises `CallgrindError`, with the line, for any other."""
    try:
        # A name in any encoding is only compared and shown.
        reader = Reader(path)
        reader.read(line.decode(errors="replace") for line in lines_of(path))
    except OSError as error:
        raise CallgrindError(f"{path} cannot be read: {error.strerror}") from error
    return reader.dump()


def is_dump(path: Path) -> bool:
    """Returns whether a file begins as callgrind's files do; False if it cannot be read."""
    try:
        with open_file(path) as file:
            begin = file.read(len(MARK))
    except OSError:
        return False
    return begin == MARK or begin.startswith(OLD_MARKS)


MARK = b"# callgrind format"
OLD_MARKS = (b"version: ", b"creator: ", b"events: ", b"desc: ", b"cmd: ", b"positions: ")
"""First line of a file; and those without it, as older versions and other tools write them."""


class Reader:
    """The state of reading: names by number, and the functions to which the next counts belong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = 0
        self._events: tuple[str, ...] = ()
        self._is_callgrind = self._has_totals = False
        self._totals: Counts = []
        self._positions = 1
        self._names: dict[tuple[str, str], str] = {}
        self._object = self._file = UNKNOWN
        self._called_object = ""
        self._places: dict[Node, int] = {}
        self._nodes_by_name: dict[tuple[str, str], int] = {}
        self._files: dict[int, str] = {}
        self._own: list[Counts] = []
        self._edges: dict[tuple[int, int], Call] = {}
        self._current = self._called = -1
        self._number = -1
        self._calls = 1
        self._overhead: int | None = None

    def read(self, lines: Iterable[str]) -> None:
        """Adds the lines of a file. Raises `CallgrindError`."""
        for self._line, line in enumerate(lines, 1):
            if line[0] in COST:
                self._cost(line)
                continue
            text = line.strip()
            if not text or text[0] == "#":
                continue
            key, separator, value = text.partition("=")
            if separator and key in SPECIFICATIONS:
                if self._number >= 0:
                    self._fail("no counts follow the line of calls above")
                self._specify(key, value.strip())
            else:
                self._header(text)

    def dump(self) -> Dump:
        """Returns what was read. Raises `CallgrindError` if something is missing."""
        if not self._events:
            self._fail("ends without a line of events; it is no file of callgrind")
        if self._number >= 0 or (self._is_callgrind and not self._has_totals):
            self._fail("the file is cut short")
        made = Dump(
            self._path,
            self._events,
            tuple(self._places),
            self._own,
            self._edges,
            self._files,
            self._calls,
            self._overhead,
        )
        if self._has_totals and made.total != self._totals:
            self._fail(
                f"the counts add up to {made.total} and not to the totals, {self._totals}; the "
                "file is damaged"
            )
        return made

    def _cost(self, line: str) -> None:
        """Adds a line of counts to the current function, or to its call of another."""
        words = line.split()
        try:
            counts = [int(word) for word in words[self._positions :]]
        except ValueError:
            self._fail(f"no line of counts: {line.strip()!r}")
        if self._current < 0 or len(counts) > len(self._events):
            self._fail(
                f"{pluralize(len(counts), 'count')} of {pluralize(len(self._events), 'event')}"
                if self._current >= 0
                else "counts before a function"
            )
        added = self._own[self._current] if self._number < 0 else self._edge()
        for place, count in enumerate(counts):
            added[place] += count

    def _edge(self) -> Counts:
        if self._called < 0:
            self._fail("calls of no function")
        key = (self._current, self._called)
        call = self._edges.get(key)
        if call is None:
            call = self._edges[key] = Call(0, [0] * len(self._events))
        call.number += self._number
        self._number = -1
        # Callgrind names the called object only where it differs from the caller's.
        self._called_object = ""
        return call.counts

    def _name(self, kind: str, value: str) -> str:
        match = NUMBERED.match(value)
        if match is None:
            return value
        number, name = match[1], match[2]
        if name:
            self._names[kind, number] = name
            return name
        try:
            return self._names[kind, number]
        except KeyError:
            self._fail(f"({number}) stands for no name yet")

    def _node(self, name: str, where: str) -> int:
        place = self._nodes_by_name.get((name, where))
        if place is None:
            match = RECURSION.fullmatch(name)
            node = Node(
                match[1] if match else name,
                int(match[2]) if match else 1,
                ABI.sub("", where.rpartition("/")[2]),
            )
            place = self._places.setdefault(node, len(self._places))
            self._nodes_by_name[name, where] = place
            if place == len(self._own):
                self._own.append([0] * len(self._events))
        return place

    def _specify(self, key: str, value: str) -> None:
        """Takes a line `key=value` of a body."""
        kind = SPECIFICATIONS[key]
        name = self._name(kind, value) if kind else ""
        if key == "calls":
            number = value.partition(" ")[0]
            if not number.isdecimal():
                self._fail(f"no number of calls: {value!r}")
            self._number = int(number)
        elif key == "cfn":
            self._called = self._node(name, self._called_object or self._object)
        elif key == "fn":
            self._current = self._node(name, self._object)
            self._files[self._current] = self._file
        elif key == "ob":
            self._object = name
        elif key == "cob":
            self._called_object = name
        elif key == "fl":
            self._file = name

    def _header(self, text: str) -> None:
        match = HEADER.match(text)
        if match is None:
            self._fail(f"not in callgrind's format: {one_line(text, SHOWN)!r}")
        key, value = match.groups()
        if key == "events":
            self._set_events(tuple(value.split()))
        elif key == "positions":
            if not POSITIONS.issuperset(value.split()):
                self._fail(f"unknown positions: {value}")
            self._positions = len(value.split())
        elif key == "creator":
            self._is_callgrind = value.startswith("callgrind")
        elif key == "totals":
            self._add_totals(value)
        elif key == "desc":
            self._describe(value)

    def _set_events(self, events: tuple[str, ...]) -> None:
        if not events or self._events not in ((), events):
            self._fail(
                f"a part counts {' '.join(events) or 'nothing'}, after one of "
                f"{' '.join(self._events) or 'nothing'}"
            )
        self._events = events
        self._totals = self._totals or [0] * len(events)
        self._has_totals = False

    def _add_totals(self, value: str) -> None:
        words = value.split()
        if not all(word.isdecimal() for word in words) or len(words) > len(self._events):
            self._fail(f"no totals: {one_line(value, SHOWN)!r}")
        for place, word in enumerate(words):
            self._totals[place] += int(word)
        self._has_totals = True

    def _describe(self, value: str) -> None:
        calls, overhead = CALLS.match(value), OVERHEAD.match(value)
        if calls is not None:
            self._calls = int(calls[1])
            if not self._calls:
                self._fail("counts of 0 calls")
        if overhead is not None:
            self._overhead = int(overhead[1])

    def _fail(self, what: str) -> NoReturn:
        raise CallgrindError(f"{self._path}:{self._line}: {what}")


SHOWN = 60
"""Most characters of a line in a message."""

SPECIFICATIONS = {
    **dict.fromkeys(("ob", "cob"), "ob"),
    **dict.fromkeys(("fn", "cfn", "jfn"), "fn"),
    # Files of inlined code, of the code at which a called function begins, or of a jump are of no
    # function, but names may be defined there.
    **dict.fromkeys(("fl", "fi", "fe", "cfi", "cfl", "jfi"), "fl"),
    # What follows a jump is a position without counts.
    **dict.fromkeys(("calls", "jump", "jcnd"), ""),
}
"""The lines `key=value` of a body, each with the kind of name that it has; empty for none."""
