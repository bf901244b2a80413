"""Every concrete snippet of nested dicts and of blocks of text, a snippet a line or Python and
C++ side by side, and their names."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, Union

from opperf.errors import UsageError
from opperf.snippets.definitions import (
    PYTHON_CALL,
    Grouped,
    GroupedSetup,
    GroupedStmts,
    Language,
    Place,
    TimerArgs,
    caller,
    first_line,
    model_call,
)

Labels = tuple[str, ...]

Definition = Union[TimerArgs, Grouped]

Benchmarks = Mapping[Any, Any]
"""Definitions by label, a text or a tuple of texts; a value may be such a dict itself."""


def flatten(benchmarks: Benchmarks) -> dict[Labels, Definition]:
    """Returns the definitions by all their labels, from the outermost dict to the innermost. Raises
    `UsageError` for two definitions of one label, and for anything else than a definition."""
    found: dict[Labels, Definition] = {}
    for labels, definition in _walk((), benchmarks):
        earlier = found.get(labels)
        if earlier is not None:
            raise UsageError(
                f"{definition.place}: a second definition of {'/'.join(labels)}; the first one is "
                f"at {earlier.place}"
            )
        found[labels] = definition
    return found


def _walk(outer: Labels, value: Any) -> Iterator[tuple[Labels, Definition]]:
    if isinstance(value, (TimerArgs, Grouped)):
        if not outer:
            raise UsageError(f"{value.place}: a definition without a label; put it in a dict")
        yield outer, value
        return
    if not isinstance(value, Mapping):
        where = f" under {'/'.join(outer)}" if outer else ""
        raise UsageError(
            f"{type(value).__name__}{where} is neither a definition nor a dict of definitions"
        )
    for label, inner in value.items():
        yield from _walk((*outer, *_labels(label, outer)), inner)


def _labels(label: Any, outer: Labels) -> Labels:
    words = label if isinstance(label, tuple) else (label,)
    for word in words:
        if not (isinstance(word, str) or word is None):
            where = f" under {'/'.join(outer)}" if outer else ""
            raise UsageError(f"the label {word!r}{where} is no text; a label is a text or a tuple")
    return tuple(word for word in words if word)


Mode = Literal["eager", "script"]

MODES: dict[Mode, str] = {"eager": "Eager", "script": "TorchScript"}
PASSES = {False: "Forward", True: "Forward+Backward"}
LANGUAGES: dict[Language, str] = {"python": "Python", "c++": "C++"}
"""Labels of concrete snippets, by what they stand for: whether there is a backward pass."""


class Snippet(NamedTuple):
    """One statement to measure."""

    labels: Labels
    """Those of its definition, then its mode, passes and language, as far as it has them."""
    language: Language
    source: str
    setup: str
    global_setup: str
    threads: int
    place: Place
    model: str = ""
    mode: Mode = "eager"
    output: str = ""
    has_backward: bool = False


def expand(benchmarks: Benchmarks) -> tuple[Snippet, ...]:
    """Returns the concrete snippets of definitions. Raises what `flatten` raises."""
    return tuple(
        snippet
        for labels, definition in flatten(benchmarks).items()
        for snippet in _expand_one(labels, definition)
    )


def _expand_one(labels: Labels, definition: Definition) -> Iterator[Snippet]:
    if isinstance(definition, TimerArgs):
        yield Snippet(
            labels=(*labels, LANGUAGES[definition.language]),
            language=definition.language,
            source=definition.stmt,
            setup=definition.setup,
            global_setup=definition.global_setup,
            threads=definition.num_threads,
            place=definition.place,
        )
        return
    modes: tuple[Mode, ...] = ("eager", "script") if definition.torchscript else ("eager",)
    passes = (False, True) if definition.autograd else (False,)
    statements: dict[Language, str] = {"python": definition.py_stmt, "c++": definition.cpp_stmt}
    languages = [language for language, statement in statements.items() if statement]
    for mode, has_backward, language, threads in itertools.product(
        modes, passes, languages, definition.num_threads
    ):
        source, setup, model = _code(definition, mode, language)
        yield Snippet(
            labels=(*labels, MODES[mode], PASSES[has_backward], LANGUAGES[language]),
            language=language,
            source=source,
            setup=setup,
            global_setup=definition.setup.global_setup if language == "c++" else "",
            model=model,
            mode=mode,
            output=definition.signature.output if definition.signature else "",
            has_backward=has_backward,
            threads=threads,
            place=definition.place,
        )


def _code(group: Grouped, mode: Mode, language: Language) -> tuple[str, str, str]:
    """Returns the source, the setup and the model of a group's snippet."""
    setup, signature = group.setup, group.signature
    if mode == "eager" and language == "c++":
        return group.cpp_stmt, _lines(setup.cpp_setup, group.cpp_model), ""
    if mode == "eager":
        model = group.py_model if group.is_module else ""
        return group.py_stmt, _lines(setup.py_setup, model), ""
    assert signature is not None
    if language == "python":
        return model_call(signature, PYTHON_CALL), setup.py_setup, group.py_model
    # A module's constructor may use variables of the setup; a function has parameters. The result
    # of a TorchScript program is an `IValue`.
    before = setup.py_setup if group.is_module else ""
    source = model_call(signature, ".forward({{{}}});", "auto ")
    return source, setup.cpp_setup, _lines(before, group.py_model)


def _lines(*texts: str) -> str:
    return "\n".join(text.strip("\n") for text in texts if text.strip())


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
            made[labels] = GroupedStmts(
                of_python.text, of_cpp.text, setup, num_threads=num_threads, place=at
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
