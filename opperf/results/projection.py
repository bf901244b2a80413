"""Records by their dimensions: operator, category, settings, labels, swept points and others, by
which tables, plots and rankings group them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from opperf.errors import unknown
from opperf.model import DECLARED, Case, OperatorTarget, Record
from opperf.results.settings import SELF_EXPLANATORY, differing_settings
from opperf.results.sweeps import configurations_of, swept_labels, variables_of
from opperf.results.text import MORE, inputs_text

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

OVERLOAD, OPERATOR, CASE, INPUTS = "overload", "operator", "case", "inputs"
"""Dimensions of what is called: the name in tables, the same without its overload, the case's id,
and the arguments, or of a sweep the configuration that they are a point of."""

CALLED = frozenset({OVERLOAD, OPERATOR, CASE})
"""Those whose values are named as operators are."""

CATEGORY, FRAMEWORK, FILE, METRIC = "category", "framework", "file", "metric"

LABEL = "label."
"""Begins the name of a label's dimension: `label.commit`."""

MOST_VALUES = 4
"""Most values of a dimension in a warning."""


class Source(NamedTuple):
    """The records of a file."""

    name: str
    records: Sequence[Record]
    labels: Mapping[str, str] = {}


class Observation(NamedTuple):
    """A record, or one metric of it, with what it has of its file."""

    record: Record
    file: str = ""
    labels: Mapping[str, str] = {}
    metric: str = ""

    @property
    def case(self) -> Case:
        return self.record.case


Texts = Callable[[Sequence[Observation]], Sequence[str]]
"""Returns the value of a dimension for each observation, as text."""


def observations(sources: Iterable[Source]) -> list[Observation]:
    """Returns the records of the sources, in their order."""
    return [
        Observation(record, source.name, source.labels)
        for source in sources
        for record in source.records
    ]


def operator_of(case: Case) -> str:
    """Returns the name of a case's operator without its overload."""
    target = case.target
    return case.name or (target.name if isinstance(target, OperatorTarget) else target.label)


def _inputs(found: Sequence[Observation]) -> list[str]:
    cases = [entry.case for entry in found]
    named = configurations_of(cases) or map(inputs_text, cases)
    return [name or inputs_text(case) for name, case in zip(named, cases, strict=True)]


def _each(read: Callable[[Observation], str]) -> Texts:
    return lambda found: [read(entry) for entry in found]


FIXED: dict[str, Texts] = {
    OVERLOAD: lambda found: swept_labels([entry.case for entry in found]),
    OPERATOR: _each(lambda entry: operator_of(entry.case)),
    CASE: _each(lambda entry: entry.record.id),
    INPUTS: _inputs,
    CATEGORY: _each(lambda entry: entry.case.category),
    FRAMEWORK: _each(lambda entry: entry.case.target.framework),
    FILE: _each(lambda entry: entry.file),
    METRIC: _each(lambda entry: entry.metric),
}
"""Dimensions that all records have, besides settings."""


def _setting(name: str) -> Texts:
    return _each(lambda entry: DECLARED[name].text(getattr(entry.case.settings, name)))


def _point(name: str) -> Texts:
    return _each(lambda entry: str(entry.case.point.get(name, "")))


def _label(name: str) -> Texts:
    return _each(lambda entry: entry.labels.get(name, ""))


def dimensions_of(found: Sequence[Observation]) -> dict[str, Texts]:
    """Returns every dimension of these records by name."""
    variables = variables_of(entry.case for entry in found)
    labels = dict.fromkeys(name for entry in found for name in entry.labels)
    return {
        **{name: _setting(name) for name in DECLARED},
        **{f"{LABEL}{name}": _label(name) for name in labels},
        **{name: _point(name) for name in variables},
        **FIXED,
    }


def context_dimensions(found: Sequence[Observation]) -> list[str]:
    """Returns the dimensions that are no part of a call: settings of ids, and labels."""
    settings = [name for name, setting in DECLARED.items() if setting.identity]
    return [*settings, *(name for name in dimensions_of(found) if name.startswith(LABEL))]


def check_dimensions(names: Iterable[str], found: Sequence[Observation]) -> None:
    """Raises `UsageError` for a name that is no dimension of these records."""
    known = dimensions_of(found)
    for name in names:
        if name not in known:
            order = [*FIXED, *(other for other in known if other not in FIXED)]
            raise unknown("dimension for --by", name, order)


def named(name: str, text: str) -> str:
    """Returns the value of a dimension with its name, where it does not explain itself."""
    if not text or name in FIXED or name in SELF_EXPLANATORY:
        return text
    if name in DECLARED or name.startswith(LABEL):
        return f"{name.removeprefix(LABEL)} {text}"
    return f"{name}={text}"


def project(names: Sequence[str], found: Sequence[Observation]) -> list[dict[str, str]]:
    """Returns the values of the dimensions of these names, by name, for each record."""
    known = dimensions_of(found)
    columns = [known[name](found) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)] or [
        {} for _ in found
    ]


def describe(
    found: Sequence[Observation], by: Sequence[str] = (), without: Iterable[str] = ()
) -> list[dict[str, str]]:
    """Returns what distinguishes each record, by dimension: its operator, every setting in which
    operators differ, its inputs where an operator has several configurations of a sweep, the swept
    point, what `by` names if they differ in it, and its file if there are several. Raises
    `UsageError` for an unknown dimension."""
    check_dimensions(by, found)
    known, cases = dimensions_of(found), [entry.case for entry in found]
    # Without the overloads if the user wants operators.
    operator = OPERATOR if OPERATOR in by and OVERLOAD not in by else OVERLOAD
    has_files = len({entry.file for entry in found}) > 1
    names = dict.fromkeys(
        (
            operator,
            *differing_settings(cases),
            *([INPUTS] if configurations_of(cases) else []),
            *variables_of(cases),
            *(name for name in by if name != FILE and len(set(known[name](found))) > 1),
            *([FILE] if has_files else []),
        )
    )
    kept = [name for name in names if name not in set(without)]
    return [
        {name: named(name, text) for name, text in values.items()}
        for values in project(kept, found)
    ]


def group(items: Iterable[T], keys: Iterable[K]) -> dict[K, list[T]]:
    """Returns the items by key, in the order in which keys come first."""
    groups: dict[K, list[T]] = {}
    for item, key in zip(items, keys, strict=True):
        groups.setdefault(key, []).append(item)
    return groups


def number_alike(keys: Iterable[K]) -> list[tuple[K, int]]:
    """Returns each key with the number of equal ones before it."""
    seen: Counter[K] = Counter()
    numbered = []
    for key in keys:
        numbered.append((key, seen[key]))
        seen[key] += 1
    return numbered


def grouped_away(
    found: Sequence[Observation], keys: Sequence[Hashable], names: Iterable[str]
) -> str:
    """Returns a warning about dimensions in which records of a key differ; empty without."""
    groups = group(range(len(found)), keys).values()
    known = dimensions_of(found)
    differing = []
    for name in names:
        texts = known[name](found)
        values = dict.fromkeys(
            texts[index]
            for members in groups
            if len({texts[index] for index in members}) > 1
            for index in members
        )
        if values:
            shown = [text or "none" for text in values]
            more = [MORE] if len(shown) > MOST_VALUES else []
            differing.append(f"{name} ({', '.join([*shown[:MOST_VALUES], *more])})")
    if not differing:
        return ""
    return f"Grouped together, though they differ in {', '.join(differing)}"
