"""Which operators are meant: by name, glob, regular expression, category and namespace."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from opperf.errors import UnknownOperatorError, UsageError, suggest
from opperf.model import Operator, Settings, Struct
from opperf.rules.fuzzing import Fuzz

REGEX = "re:"
"""What a pattern that is a regular expression begins with."""


class Selection(Struct, frozen=True):
    """What a user asks to be measured, and how."""

    patterns: tuple[str, ...] = ()
    """Names, globs, `re:` regexes or dotted paths; none means every operator."""
    exclude: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    size: str = "default"
    int64_tensor: bool = False
    shapes: dict[str, tuple[int, ...]] = {}
    """Shapes that replace a rule's, by argument name."""
    backward: bool = True
    configurations: int | None = None
    """Configurations of each operator that are measured at most; None means all."""
    shuffle: bool = False
    """Whether the cases are in a random order, by the settings' seed, and not by name."""
    rounds: int = 1
    """How many times the whole list of cases is visited."""
    fuzz: Fuzz | None = None
    """Random shapes of each operator, instead of a rule's."""
    ids: tuple[str, ...] = ()
    """Ids, or beginnings of ids, of the only cases that are measured; none means all."""
    phase: Literal["train", "predict"] | None = None
    """Phase that all cases run in; None for the one that each operator's rule has."""
    settings: Settings = Settings()


def select(operators: Sequence[Operator], selection: Selection) -> list[Operator]:
    """The operators of a selection, in the order given; all of them if it has no patterns.

    Raises `UnknownOperatorError` for a pattern that fits none, and `UsageError` for a category
    or namespace that none is in.
    """
    check_groups(operators, selection)
    wanted = {operator.name for operator in operators} if not selection.patterns else set()
    for pattern in selection.patterns:
        found = find_matching(pattern, operators)
        if not found:
            raise _unknown(pattern, operators)
        wanted.update(operator.name for operator in found)
    excluded = [_excluding(pattern, operators) for pattern in selection.exclude]

    def asked_for(operator: Operator) -> bool:
        return (
            (not selection.categories or operator.category in selection.categories)
            and (
                not selection.namespaces
                or bool(set(operator.namespaces) & set(selection.namespaces))
            )
            and not any(matches(operator) for matches in excluded)
        )

    return [operator for operator in operators if operator.name in wanted and asked_for(operator)]


def find_matching(pattern: str, operators: Iterable[Operator]) -> list[Operator]:
    """The operators that have a name a pattern fits. Raises as `make_matcher`."""
    matches = make_matcher(pattern)
    return [operator for operator in operators if matches(operator)]


def is_path(pattern: str) -> bool:
    """Whether a pattern may be the path of a callable: dotted, or a file's or module's name, a
    colon and a function."""
    if pattern.startswith(REGEX) or "*" in pattern:
        return False
    return "." in pattern or ":" in pattern


def check_groups(operators: Iterable[Operator], selection: Selection) -> None:
    """Raise `UsageError` for a category or namespace that no operator is in."""
    listed = list(operators)
    check_known("category", selection.categories, {o.category for o in listed})
    spaces = {space for operator in listed for space in operator.namespaces}
    check_known("namespace", selection.namespaces, spaces)


def check_known(what: str, given: Iterable[str], known: set[str]) -> None:
    """Raise `UsageError` for the first word that is not among the known ones."""
    for word in given:
        if word not in known:
            raise UsageError(
                f"unknown {what} {word!r}{suggest(word, known)}; known: {', '.join(sorted(known))}"
            )


def make_matcher(pattern: str) -> Callable[[Operator], bool]:
    """Whether an operator has a name that a pattern fits.

    Raises `UsageError` for a malformed regular expression.
    """
    if pattern == REGEX:
        raise UsageError(f"{pattern!r} fits every operator; put an expression behind the colon")
    if pattern.startswith(REGEX):
        try:
            compiled = re.compile(pattern[len(REGEX) :])
        except re.error as error:
            raise UsageError(f"{pattern!r} is no regular expression: {error}") from error
        return lambda operator: any(compiled.search(name) for name in operator.names)
    if any(character in pattern for character in "*?["):
        return lambda operator: any(fnmatch.fnmatchcase(n, pattern) for n in operator.names)
    return lambda operator: pattern in operator.names


def _excluding(pattern: str, operators: Iterable[Operator]) -> Callable[[Operator], bool]:
    """The matcher of a pattern to leave out, which must fit an operator: a misspelt one would
    leave out nothing, unnoticed."""
    matches = make_matcher(pattern)
    if not any(map(matches, operators)):
        raise _unknown(pattern, operators, "--exclude: ")
    return matches


def _unknown(pattern: str, operators: Iterable[Operator], where: str = "") -> UnknownOperatorError:
    names = [name for operator in operators for name in operator.names]
    return UnknownOperatorError(
        f"{where}no operator is called {pattern!r}{suggest(pattern, names)}"
    )
