"""Blocks of text with one snippet a line, or with Python and C++ side by side."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.snippets.definitions import Grouped, GroupedSetup, Place, caller, first_line, group
from opperf.snippets.expanding import Labels

SEPARATOR = "|"
"""Between Python and C++ in a line, with white space before it: `a|b` is an expression."""

MARK = re.compile(r"(?:#|//)\s*@\s*(?P<label>.+?)\s*")
"""`# @Label`, or `// @Label` in C++."""

COMMENT = re.compile(r"#|//")

SETUPS = {"setup": "setup", "global setup": "global_setup"}
"""Labels of lines that are no snippets, in lower case."""

HEADER = ("python", "c++")
"""The two cells of a first line that names the columns, in lower case."""

RULE = re.compile(r"[-=\s|]*")
"""A line under the names of the columns."""


class Line(NamedTuple):
    """A line of one language."""

    text: str
    place: Place


class Block(NamedTuple):
    """Lines of a block in one language, by label; in some rows one language is empty."""

    lines: dict[str, list[Line]]
    setup: str
    global_setup: str


def parse_stmts(text: str, separator: str = SEPARATOR) -> tuple[str, str]:
    """Returns the Python and the C++ of a text that has them side by side. The first separator of a
    line that has white space before it, or begins the line, ends the Python; columns have no width.
    A first line `Python | C++`, and a line of dashes under it, are no code. A line without a
    separator is Python."""
    left, right = _columns(textwrap.dedent(text), separator)
    return _joined(left), _joined(right)


def iter_parsed_lines(text: str, separator: str = SEPARATOR) -> Iterator[tuple[str, str]]:
    """Yields the Python and the C++ of each line that `parse_stmts` would return, without white
    space around them: of lines that are snippets, or parts of some, of their own."""
    for left, right in zip(*_columns(textwrap.dedent(text), separator), strict=True):
        if left.strip() or right.strip():
            yield left.strip(), right.strip()


def _joined(cells: Sequence[str]) -> str:
    return textwrap.dedent("\n".join(cells)) if any(map(str.strip, cells)) else ""


def _columns(text: str, separator: str) -> tuple[list[str], list[str]]:
    between = re.compile(rf"(?:^|(?<=\s)){re.escape(separator)}(?=\s|$)")
    pairs: list[tuple[str, str]] = []
    is_begun = False
    for line in text.splitlines():
        found = between.search(line)
        cells = (line[: found.start()], line[found.end() :]) if found else (line, "")
        named = tuple(cell.strip().lower() for cell in cells)
        is_heading = named == HEADER or (bool(line.strip()) and bool(RULE.fullmatch(line)))
        if not is_begun and is_heading:
            cells = ("", "")
        # A rule belongs to a heading, before any code.
        is_begun = is_begun or bool(line.strip() and not is_heading)
        # One blank is part of the separator; what else is before C++ indents it.
        pairs.append((cells[0].rstrip(), cells[1].removeprefix(" ").rstrip()))
    return [left for left, _ in pairs], [right for _, right in pairs]


def GroupedVariants(
    py_block: str = "",
    cpp_block: str = "",
    num_threads: int | Sequence[int] = 1,
    separator: str = SEPARATOR,
) -> dict[Labels, Grouped]:
    """Returns groups of snippets from a block with one snippet a line, by label.

    `# @Label` begins the snippets of a label, and `# @Setup` and `# @Global setup` (C++ alone) the
    lines in front of all of them. Without `cpp_block`, `py_block` has both languages, separated as
    `parse_stmts` says, and a label is that of both; else the two blocks have the same labels, and
    their lines belong together in order. Raises `UsageError` with file and line.
    """
    place = caller()
    text = textwrap.dedent(py_block)
    if cpp_block:
        python = _read(text, text.splitlines(), place)
        beside = textwrap.dedent(cpp_block)
        cpp = _read(beside, beside.splitlines(), place)
    else:
        left, right = _columns(text, separator)
        marks = [MARK.fullmatch(cell.strip()) for cell in left]
        # A label that only the Python has is that of both.
        others = [
            cell or (mark.group() if mark else "") for cell, mark in zip(right, marks, strict=True)
        ]
        python, cpp = _read(text, left, place), _read(text, others, place)
    setup = GroupedSetup(python.setup, cpp.setup, cpp.global_setup)
    if python.global_setup:
        raise UsageError(f"{place}: a global setup in Python; it is for C++, as #include")
    made: dict[Labels, Grouped] = {}
    for label in dict.fromkeys((*python.lines, *cpp.lines)):
        nothing = Line("", place)
        rows = [
            (left, right)
            for left, right in zip_longest(
                python.lines.get(label, ()), cpp.lines.get(label, ()), fillvalue=nothing
            )
            if left.text or right.text
        ]
        for index, (of_python, of_cpp) in enumerate(rows):
            number = (f"Case: {index}",) if len(rows) > 1 else ()
            labels = (*([label] if label else []), *number)
            at = of_python.place if of_python.text else of_cpp.place
            made[labels] = group(
                at, of_python.text or None, of_cpp.text or None, setup, num_threads=num_threads
            )
    if not made:
        raise UsageError(f"{place}: a block without a snippet; write one a line")
    return made


def _read(text: str, cells: Sequence[str], place: Place) -> Block:
    """Returns one column of a block. Raises `UsageError` for a label that occurs twice."""
    begin = first_line(text, place)
    label = ""
    sections: dict[str, list[Line]] = {}
    for number, cell in enumerate(cells):
        at = place if begin is None else Place(place.file, begin + number)
        mark = MARK.fullmatch(cell.strip())
        if mark:
            label = SETUPS.get(mark["label"].replace("_", " ").casefold(), mark["label"])
            if label in sections:
                raise UsageError(f"{at}: the label {mark['label']!r} is there twice in the block")
            sections[label] = []
        elif label in SETUPS.values():
            sections[label].append(Line(cell, at))
        else:
            is_comment = bool(COMMENT.match(cell.strip()))
            sections.setdefault(label, []).append(Line("" if is_comment else cell.strip(), at))
    setups = {
        name: _joined([line.text for line in sections.pop(name, [])]) for name in SETUPS.values()
    }
    return Block(sections, setups["setup"], setups["global_setup"])
