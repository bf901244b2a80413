"""Canonical operations by what users call them: their own names, the field's, patterns, and the
names of frameworks' operators."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from opperf.errors import UnknownOperatorError, did_you_mean, unknown
from opperf.frameworks import BUILT_IN
from opperf.near_names import nearest
from opperf.operations import OPERATIONS
from opperf.operations.names import ALIASES, Named, named
from opperf.operations.uses import names_of
from opperf.rules.engine import rules_module
from opperf.rules.families import FAMILIES
from opperf.sources.selecting import SUGGESTED


def find_operations(words: Iterable[str], categories: Sequence[str] = ()) -> list[Named]:
    """Returns the operations of names and patterns, and those of categories that have inputs by
    role, each once. Raises `UnknownOperatorError` with near names for a word that means none, and
    `UsageError` for an unknown category."""
    found: dict[Named, None] = {}
    for word in words:
        found |= dict.fromkeys(_meant(word))
    known = sorted({operation.module for operation in OPERATIONS.values()})
    for category in categories:
        if category not in known:
            raise unknown("category of operations", category, known)
        found |= dict.fromkeys(
            Named(name)
            for name, operation in OPERATIONS.items()
            if operation.module == category and name in FAMILIES.by_operation
        )
    return list(found)


def _meant(word: str) -> list[Named]:
    if "*" in word or "?" in word:
        matching = [name for name in OPERATIONS if fnmatch.fnmatchcase(name, word.lower())]
        own = [Named(name) for name in matching if name in FAMILIES.by_operation]
    else:
        plain = word.partition(".")[2] if word.partition(".")[0] in BUILT_IN else word
        found = named(plain)
        own = [found] if found is not None else _of_operator(plain)
    if not own:
        near = nearest(word, [*OPERATIONS, *ALIASES], SUGGESTED)
        raise UnknownOperatorError(
            f"no operation is called {word!r}{did_you_mean(near) or '; see --category for groups'}"
        )
    return own


def _of_operator(name: str) -> list[Named]:
    """Returns the operation of a framework's operator of this name, of the first that has one."""
    for framework in BUILT_IN:
        table = rules_module(f"opperf.rules.{framework}").OPERATIONS
        for operation, operators in names_of(table).items():
            ends = {end for own in operators for end in (own, own.rpartition(".")[2])}
            if name in ends and operation in FAMILIES.by_operation:
                return [Named(operation)]
    return []
