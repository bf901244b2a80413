"""Joins the cases of two files, weights them by their counts, and finds in what the files differ:
in environment, labels and settings, the most important first, and in the values of inputs on which
times depend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from opperf.comparison.files.reading import Entry, Measured
from opperf.comparison.tolerances import matching
from opperf.errors import RunFileError, UsageError, suggest
from opperf.machine.environment import ABSENT, Difference, notable_differences, position
from opperf.model import PASSES
from opperf.plurals import pluralize
from opperf.results.figures import Measurement
from opperf.results.projection import number_alike
from opperf.statistics.weights import Alone, Weighed, Weighted, weigh

By = Literal["id", "call", "shown", "detailed", "place"]
"""The key that cases are joined by: target, arguments and settings; target and arguments, with any
settings; the operator's name and the inputs in the form of results by operator; the same with the
details of the tensors; the case's place among the planned cases of its file."""

KEYS: dict[By, Callable[[Entry], str]] = {
    "id": lambda entry: entry.id,
    "call": lambda entry: entry.call,
    "shown": lambda entry: entry.shown,
    "detailed": lambda entry: f"{entry.shown} {entry.details}",
    "place": lambda entry: str(entry.place),
}


class Pair(NamedTuple):
    """A case in one file or in both."""

    base: Entry | None
    new: Entry | None


def by_inputs(base: Sequence[Entry], new: Sequence[Entry]) -> By:
    """Returns the key of files without ids. Results of MXNet's own utility have no details
    either."""
    return "detailed" if all(any(e.details for e in side) for side in (base, new)) else "shown"


def join(base: Sequence[Entry], new: Sequence[Entry], by: By) -> list[Pair]:
    """Joins the cases of both files, those of the same key in their order."""
    left, right = (
        dict(zip(number_alike(map(KEYS[by], entries)), entries, strict=True))
        for entries in (base, new)
    )
    return [Pair(left.get(key), right.get(key)) for key in dict.fromkeys([*left, *right])]


def check_places(base: Measured, new: Measured) -> None:
    """Raises `UsageError` unless both files have places."""
    for measured in (base, new):
        if any(entry.place is None for entry in measured.entries):
            raise UsageError(
                f"{measured.side.path} is no run file: --in-order joins the cases of run files"
            )


def filter_operators(
    base: Measured, new: Measured, patterns: Sequence[str]
) -> tuple[Measured, Measured]:
    """Returns both files with matching operators. Raises `UsageError` if none matches."""
    if not patterns:
        return base, new
    names = dict.fromkeys(entry.operator for entry in (*base.entries, *new.entries))
    chosen: set[str] = set()
    for pattern in patterns:
        fitting = matching(pattern, names)
        if not fitting:
            raise UsageError(
                f"--filter: no operator in either file matches {pattern!r}{suggest(pattern, names)}"
            )
        chosen |= fitting
    one, other = (
        side._replace(entries=tuple(entry for entry in side.entries if entry.operator in chosen))
        for side in (base, new)
    )
    return one, other


def check_common(base: Measured, new: Measured, pairs: Iterable[Pair]) -> None:
    """Raises `RunFileError`, with the differences, for files without a common case."""
    if any(pair.base and pair.new for pair in pairs):
        return
    one, other = base.side.name, new.side.name
    raise RunFileError(f"{one} and {other} have no case in common: {_why_disjoint(base, new)}")


def _why_disjoint(base: Measured, new: Measured) -> str:
    if not base.entries or not new.entries:
        empty = base if not base.entries else new
        return f"{empty.side.name} has no case that --filter matches"
    sides = base.entries, new.entries
    differing = ", ".join(
        f"{name} {', '.join(sorted(before))} against {', '.join(sorted(after))}"
        for name, before, after in _disjoint_values(base, new)
    )
    if differing:
        calls, others = ({entry.call for entry in entries} - {""} for entries in sides)
        is_joined = not calls.isdisjoint(others)
        hint = "--ignore-settings joins them anyway" if is_joined else "measure both with the same"
        return f"{differing}; {hint}"
    shared = set.intersection(*({entry.operator for entry in entries} for entries in sides))
    if not shared:
        return "no operator is in both"
    return f"{pluralize(len(shared), 'operator')} in both, but with different inputs"


def _disjoint_values(base: Measured, new: Measured) -> list[tuple[str, set[str], set[str]]]:
    """Returns what the files have no common value of, with the values of each."""
    ours, theirs = _values(base), _values(new)
    both = ((name, ours[name], theirs[name]) for name in ours if name in theirs)
    return [(name, a, b) for name, a, b in both if not a & b]


def _values(measured: Measured) -> dict[str, set[str]]:
    """Returns the values that the cases of a file have, by name."""
    found: dict[str, set[str]] = {}
    if measured.environment:
        found["framework"] = {measured.environment.framework}
    for entry in measured.entries:
        for name, value in entry.settings.items():
            found.setdefault(name, set()).add(str(value))
    if measured.selection:
        # A selection in a file does not contain defaults.
        found["size"] = {str(measured.selection.get("size", "default"))}
    return found


def weigh_pairs(pairs: Sequence[Pair], compared: Sequence[str], averages: bool) -> Weighted:
    """Returns the totals of the cases that both files have times of. The time of a call is the sum
    of the passes among the compared metrics. Raises `UsageError` if only other metrics are
    compared, and `RunFileError` if neither file has counts, or no case has a time in both."""
    metrics = [metric for metric in PASSES if metric in compared]
    if compared and not metrics:
        raise UsageError(
            f"--weight count is of times; add {' or '.join(PASSES)} to --metric, or omit it"
        )
    if all(entry is None or entry.count is None for pair in pairs for entry in pair):
        raise RunFileError("--weight count: neither file has counts; use run files (-f jsonl)")
    cases = [case for pair in pairs for case in _weighed(pair, metrics, averages)]
    if not cases:
        raise RunFileError(f"no common case has a {' or '.join(PASSES)} time; nothing to weight")
    alone = (case for pair in pairs for case in _alone(pair, metrics, averages))
    without = (pair for pair in pairs if not any(_figures(entry, metrics) for entry in pair))
    return weigh(cases, alone, metrics, sum(_counts(pair)[0] for pair in without))


def _counts(pair: Pair) -> tuple[int, int]:
    """Returns the counts; of results by operator, those of the other file, or 1."""
    known = [entry.count for entry in pair if entry and entry.count is not None] or [1]
    base, new = (
        known[0] if entry is None or entry.count is None else entry.count for entry in pair
    )
    return base, new


def _figures(entry: Entry | None, metrics: Iterable[str]) -> dict[str, Measurement]:
    found = {name: entry.figures[name] for name in metrics if entry and name in entry.figures}
    return {
        name: one for name, one in found.items() if one.unit == "ns" and math.isfinite(one.median)
    }


def _weighed(pair: Pair, metrics: Sequence[str], averages: bool) -> Iterator[Weighed]:
    base, new = (_figures(entry, metrics) for entry in pair)
    common = [name for name in base if name in new]
    if pair.base is not None and common:
        sides = [[side[name] for name in common] for side in (base, new)]
        times = [_time(figures, averages) for figures in sides]
        widths = [_half_width(figures) for figures in sides]
        known = (widths[0], widths[1]) if widths[0] is not None and widths[1] is not None else None
        yield Weighed(pair.base.operator, *_counts(pair), times[0], times[1], known)


def _alone(pair: Pair, metrics: Sequence[str], averages: bool) -> Iterator[Alone]:
    base, new = (_figures(entry, metrics) for entry in pair)
    if base.keys() & new.keys():
        return
    for side, entry, figures, calls in zip(
        ("base", "new"), pair, (base, new), _counts(pair), strict=True
    ):
        if entry is not None and figures:
            time_ns = calls * _time(figures.values(), averages)
            yield Alone(side, entry.operator, entry.inputs, calls, time_ns)


def _time(figures: Iterable[Measurement], averages: bool) -> float:
    return math.fsum(figure.summary.mean if averages else figure.median for figure in figures)


def _half_width(figures: Sequence[Measurement]) -> float | None:
    """Returns the half-width of one call's time; None if a figure has none."""
    widths = [figure.half_width for figure in figures if figure.half_width is not None]
    return math.hypot(*widths) if len(widths) == len(figures) else None


BEFORE_SETTINGS = "threads"
"""Fact of the environment that settings follow in the reports."""


def differences(base: Measured, new: Measured, pairs: Iterable[Pair]) -> tuple[Difference, ...]:
    """Returns the differences between labels, environments, and settings of common cases."""
    common = [(pair.base, pair.new) for pair in pairs if pair.base and pair.new]
    before, after = base.environment, new.environment
    facts = notable_differences(before, after) if before and after else []
    split = sum(position(fact.name) <= position(BEFORE_SETTINGS) for fact in facts)
    labels = (
        Difference(f"label.{key}", base.labels.get(key, ABSENT), new.labels.get(key, ABSENT))
        for key in dict.fromkeys([*base.labels, *new.labels])
        if base.labels.get(key) != new.labels.get(key)
    )
    return (*labels, *facts[:split], *_of_settings(common), *facts[split:])


def _of_settings(common: Sequence[tuple[Entry, Entry]]) -> list[Difference]:
    found = []
    settings = [({**a.settings, **a.effort}, {**b.settings, **b.effort}) for a, b in common]
    for name in dict.fromkeys(name for one, other in settings for name in one if name in other):
        pairs = [(a[name], b[name]) for a, b in settings if name in a and name in b]
        if any(a != b for a, b in pairs):
            found.append(
                Difference(
                    f"settings.{name}",
                    _distinct(a for a, _ in pairs),
                    _distinct(b for _, b in pairs),
                )
            )
    return found


def _distinct(values: Iterable[Any]) -> Any:
    distinct: list[Any] = []
    for value in values:
        # A mapping has no hash.
        if value not in distinct:
            distinct.append(value)
    return distinct[0] if len(distinct) == 1 else tuple(distinct)


DEPENDENT = {
    **dict.fromkeys(("sorting_searching", "sorting"), "comparisons and swaps"),
    "indexing": "places in memory, which caches hold or not",
    **dict.fromkeys(("set", "detection"), "the number of elements that remain"),
    **dict.fromkeys(("linalg", "statistics"), "iterations, pivots and partitions"),
    **dict.fromkeys(("random", "random_sampling"), "numbers that are drawn again"),
}
"""Categories of operators whose work depends on the values of their inputs, in any framework, each
with the part that does. The others do the same work on any values."""


def contents_caveat(base: Entry, new: Entry) -> str:
    """Returns the caveat of a time that depends on inputs of different seeds."""
    seeds = base.effort.get("seed"), new.effort.get("seed")
    part = DEPENDENT.get(base.category)
    if part is None or None in seeds or seeds[0] == seeds[1]:
        return ""
    return f"seeds {seeds[0]} and {seeds[1]}: different input values, which determine {part}"


def contents_notes(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """Returns a remark on the cases whose times depend on their inputs' values, if any."""
    names = sorted(
        {
            base.operator
            for base, new in pairs
            if base and new and base.figures and new.figures and contents_caveat(base, new)
        }
    )
    if not names:
        return ()
    return (
        "The runs have different seeds, and the times of "
        f"{pluralize(len(names), 'operator')} depend on the inputs' values, e.g. {names[0]}.",
    )
