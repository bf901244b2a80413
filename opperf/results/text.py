"""Inputs, numbers and durations as text."""

from __future__ import annotations

import itertools
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os.path import commonprefix
from typing import Any

from opperf.model import Case, display_arguments
from opperf.results.details import display_details

MORE = "…"
"""Stands for what a text leaves out."""

REPEATED = 3
"""Fewest equal elements of a list in a row that are written once, with their number."""


def value_text(value: Any, place: str = "", details: Mapping[str, str] | None = None) -> str:
    """Returns an argument as short text: a shape, and the details of its place."""
    return _value_text(value, place, details or {}, "")


def _value_text(value: Any, place: str, details: Mapping[str, str], inherited: str) -> str:
    detail = details.get(place, inherited)
    if isinstance(value, list):
        if all(type(extent) is int for extent in value):
            return f"{tuple(value)} {detail}".rstrip()
        texts = [_value_text(one, f"{place}.{i}", details, detail) for i, one in enumerate(value)]
        return f"[{', '.join(_runs(texts))}]"
    if isinstance(value, dict):
        entries = (
            f"{name}: {_value_text(one, f'{place}.{name}', details, detail)}"
            for name, one in value.items()
        )
        return f"{{{', '.join(entries)}}}"
    return " ".join(str(value).split())


def _runs(texts: Iterable[str]) -> Iterator[str]:
    """Yields the texts, several equal ones in a row as one: `12 x (64, 64)`."""
    for text, group in itertools.groupby(texts):
        number = len(list(group))
        if number < REPEATED:
            yield from [text] * number
        else:
            yield f"{number} x {text}"


def arguments_text(inputs: Mapping[str, Any], details: Mapping[str, str]) -> str:
    """Returns arguments of `display_arguments` with their details, on one line."""
    return ", ".join(
        f"{name}: {value_text(value, name, details)}" for name, value in inputs.items()
    )


def inputs_text(case: Case) -> str:
    """Returns a case's arguments on one line, distinct: `lhs: (10, 10), rhs: (10, 10) csr`."""
    return arguments_text(display_arguments(case), display_details(case))


Shown = tuple[str, str]
"""An operator, and the text of a case's inputs."""


def short_inputs(cases: Iterable[Shown], width: int, lines: int = 1) -> dict[Shown, str]:
    """Returns shorter texts of the inputs of a run's cases, which take at most `lines` lines of
    `width` characters if that leaves an operator's different inputs different. Long texts omit the
    arguments that all cases of the operator have in common, except for the first."""
    groups: dict[str, dict[str, None]] = {}
    for operator, text in cases:
        groups.setdefault(operator, {})[text] = None
    return {
        (operator, text): short
        for operator, texts in groups.items()
        for text, short in zip(texts, _shorten(list(texts), width, lines), strict=True)
    }


def _shorten(texts: list[str], width: int, lines: int) -> list[str]:
    parts = [split_arguments(text) for text in texts]
    common = set.intersection(*map(set, parts)) if len(texts) > 1 else set()
    kept = [[one for i, one in enumerate(own) if not i or one not in common] for own in parts]
    short = [
        ", ".join([*few, MORE])
        if truncate_lines(text, width, lines) != text and len(few) < len(all_of)
        else text
        for text, all_of, few in zip(texts, parts, kept, strict=True)
    ]
    cut = [truncate_lines(text, width, lines) for text in short]
    number = Counter(cut)
    return [one if number[one] == 1 else text for one, text in zip(cut, short, strict=True)]


def split_arguments(text: str) -> list[str]:
    """Splits a text of `inputs_text` into arguments, at the commas outside of brackets."""
    parts, depth = [""], 0
    for word in text.split(", "):
        parts[-1] += f", {word}" if depth else word
        depth = max(0, depth + sum(word.count(c) for c in "([{") - sum(map(word.count, ")]}")))
        if not depth:
            parts.append("")
    return parts[:-1] if not parts[-1] else parts


def terminal_width() -> int | None:
    """Returns the width of the terminal; None if standard output is a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def truncate(line: str, width: int | None) -> str:
    """Returns the line cut to this width, with an ellipsis if it was longer."""
    return line if width is None or len(line) <= width else line[: width - 1] + MORE


def truncate_middle(text: str, width: int) -> str:
    """Returns the text cut to this width by an ellipsis in its middle, if it was longer."""
    tail = (width - 1) // 2
    return text if len(text) <= width else f"{text[: width - 1 - tail]}{MORE}{text[-tail:]}"


def cut_distinct(texts: Sequence[str], width: int) -> list[str]:
    """Returns texts cut to this width at the end, or in the middle if they would look alike, or
    before they differ, or not at all."""
    found = {text: text for text in texts}
    for cut in (_cut_each(truncate), _cut_each(truncate_middle), _cut_common):
        left = [text for text, now in found.items() if now == text]
        short = cut(left, width)
        number = Counter(short)
        found |= {text: one for text, one in zip(left, short, strict=True) if number[one] == 1}
    return [found[text] for text in texts]


LEAST_PATH = 16
"""Minimum characters of a path beside other texts of a line."""


def fit_paths(paths: Sequence[str], taken: int, width: int | None) -> list[str]:
    """Returns paths that fit into lines of this width beside `taken` other characters."""
    if width is None:
        return list(paths)
    return cut_distinct(paths, max(LEAST_PATH, width - taken))


def _cut_each(cut: Callable[[str, int], str]) -> Callable[[Sequence[str], int], list[str]]:
    return lambda texts, width: [cut(text, width) for text in texts]


def _cut_common(texts: Sequence[str], width: int) -> list[str]:
    """Returns texts of the same ends with the first of what differs between ellipses."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(truncate_middle(text, width), []).append(text)
    common = {short: len(commonprefix(own)) for short, own in groups.items()}
    head = width // 2
    return [
        truncate(text[: head - 1] + MORE + text[common[truncate_middle(text, width)] :], width)
        if len(text) > width
        else text
        for text in texts
    ]


LEAST_FILLED = 0.7
"""Least share of a line up to the end of its last whole word for it to end there."""


def truncate_lines(text: str, width: int, lines: int) -> str:
    """Returns a text cut to so many lines of this width, with an ellipsis if it was longer."""
    wrapped = textwrap.wrap(text, width, break_on_hyphens=False)
    if len(wrapped) <= lines:
        return text
    end = 0
    for line in wrapped[: lines - 1]:
        end = text.index(line, end) + len(line)
    rest = text[end:]
    begin = len(rest) - len(rest.lstrip())
    line = truncate(rest[begin:], width)
    # Between words, unless that leaves much of the line empty.
    whole = line.rpartition(" ")[0]
    inside_a_word = " " not in (line[-2:-1], rest[begin + len(line) - 1])
    if inside_a_word and len(whole) > LEAST_FILLED * width:
        line = whole + MORE
    return text[: end + begin] + line


SEPARATORS = re.compile(r"(?<=[=_./,:])")
"""Behind which a word that is longer than a line may be split: within a setting's name, a path."""


def split_words(text: str, width: int) -> str:
    """Returns the text with words that are longer than a line split at separators."""
    return re.sub(r"\S+", lambda word: _split_word(word[0], width), text)


def _split_word(word: str, width: int) -> str:
    if len(word) <= width:
        return word
    lines = [""]
    for part in SEPARATORS.split(word):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def wrap(text: str, width: int, indent: int = 2) -> str:
    """Returns a paragraph with lines of this width, indented except for the first."""
    return textwrap.fill(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def duration(seconds: float) -> str:
    """Returns a duration as text: `0.4 s`, `12 s`, `2 min 05 s`, `1 h 10 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def add_distinct(reasons: dict[str, str], name: str, id: str, reason: str) -> None:
    """Adds the reason of a case under its name, with its id if another case has the name."""
    reasons[f"{name} {id}" if name in reasons else name] = reason
