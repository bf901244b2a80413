"""Which case of one file is which of the other."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from opperf.compare.files.entries import Entry
from opperf.compare.files.reading import Measured
from opperf.errors import RunFileError, UsageError, suggest
from opperf.model import Operator
from opperf.results.text import counted
from opperf.sources.selecting import make_matcher


class By(enum.Enum):
    """What two cases have to share to be one."""

    ID = "id"
    """Target, arguments and settings."""
    CALL = "call"
    """Target and arguments, however they are run."""
    SHOWN = "shown"
    """The operator's name and the inputs as results by operator show them."""


KEYS: dict[By, Callable[[Entry], str]] = {
    By.ID: lambda entry: entry.id,
    By.CALL: lambda entry: entry.call,
    By.SHOWN: lambda entry: entry.shown,
}


class Pair(NamedTuple):
    """A case in one file or in both."""

    base: Entry | None
    new: Entry | None


def joined(base: Sequence[Entry], new: Sequence[Entry], by: By) -> list[Pair]:
    """Every case of either file, in the base's order and then in the new file's. Several that
    have one key are paired in the order in which they come."""
    left, right = _keyed(base, KEYS[by]), _keyed(new, KEYS[by])
    return [Pair(left.get(key), right.get(key)) for key in dict.fromkeys([*left, *right])]


def _keyed(entries: Iterable[Entry], key: Callable[[Entry], str]) -> dict[tuple[str, int], Entry]:
    found: dict[tuple[str, int], Entry] = {}
    seen: Counter[str] = Counter()
    for entry in entries:
        name = key(entry)
        found[name, seen[name]] = entry
        seen[name] += 1
    return found


def filtered(base: Measured, new: Measured, patterns: Sequence[str]) -> tuple[Measured, Measured]:
    """Both files with the cases only whose operator a pattern fits; all if there is none.

    Raises `UsageError` for a pattern that fits nothing in either file, or is malformed.
    """
    if not patterns:
        return base, new
    names = dict.fromkeys(entry.operator for entry in (*base.entries, *new.entries))
    # The patterns are those of operators, of which a file has the names only.
    operators = [Operator(framework="", namespace="", name=name) for name in names]
    chosen: set[str] = set()
    for pattern in patterns:
        matches = make_matcher(pattern)
        fitting = {operator.name for operator in operators if matches(operator)}
        if not fitting:
            raise UsageError(
                f"--filter: neither file has an operator that is called {pattern!r}"
                f"{suggest(pattern, names)}"
            )
        chosen |= fitting
    return _only(base, chosen), _only(new, chosen)


def _only(measured: Measured, operators: set[str]) -> Measured:
    entries = tuple(entry for entry in measured.entries if entry.operator in operators)
    return measured._replace(entries=entries)


def check_common(base: Measured, new: Measured, pairs: Iterable[Pair]) -> None:
    """Raise `RunFileError`, with what the two files differ in, if they have no case in common."""
    if any(pair.base and pair.new for pair in pairs):
        return
    one, other = base.side.path, new.side.path
    raise RunFileError(f"{one} and {other} have no case in common: {_why_apart(base, new)}")


def _why_apart(base: Measured, new: Measured) -> str:
    if not base.entries or not new.entries:
        empty = base if not base.entries else new
        return f"{empty.side.path} has none that --filter fits"
    differing = [
        f"{name} {_listed(before)} against {_listed(after)}"
        for name, before, after in _apart(base, new)
    ]
    if differing:
        hint = (
            "; --ignore-settings joins them all the same"
            if _calls(base) & _calls(new) - {""}
            else "; measure both alike"
        )
        return ", ".join(differing) + hint
    shared = _operators(base) & _operators(new)
    if not shared:
        return "no operator is in both"
    return f"{counted(len(shared), 'operator')} in both, with other inputs in each"


def _apart(base: Measured, new: Measured) -> list[tuple[str, set[str], set[str]]]:
    """What the files say of their cases and never say alike, with the values of each."""
    settings = dict.fromkeys(
        name for entry in (*base.entries, *new.entries) for name in entry.settings
    )
    found = [(name, _values(base.entries, name), _values(new.entries, name)) for name in settings]
    if base.environment and new.environment:
        frameworks = ({base.environment.framework}, {new.environment.framework})
        found.insert(0, ("framework", *frameworks))
    found.append(("size", _size(base), _size(new)))
    return [(name, a, b) for name, a, b in found if a and b and not a & b]


def _values(entries: Iterable[Entry], name: str) -> set[str]:
    return {str(entry.settings[name]) for entry in entries if name in entry.settings}


def _size(measured: Measured) -> set[str]:
    # A selection that is written down leaves out what is as usual.
    return {str(measured.selection.get("size", "default"))} if measured.selection else set()


def _calls(measured: Measured) -> set[str]:
    return {entry.call for entry in measured.entries}


def _operators(measured: Measured) -> set[str]:
    return {entry.operator for entry in measured.entries}


def _listed(values: Iterable[str]) -> str:
    return ", ".join(sorted(values))
