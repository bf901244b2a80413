"""Selects operators by name, glob, regular expression, category and namespace."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal

from opperf.errors import UnknownOperatorError, UsageError, did_you_mean, suggest, unknown
from opperf.frameworks import Framework, available, package_of
from opperf.matching import BoundedPattern
from opperf.model import Argument, Case, Operator, Settings, SnippetTarget, Struct, Target
from opperf.near_names import nearest, parse
from opperf.rules.extents import Fuzz
from opperf.sources.choices import GROUPS, groups

REGEX = "re:"
"""Prefix of a pattern that is a regular expression."""


class Selection(Struct, frozen=True):
    """The operators to measure, their inputs and settings."""

    patterns: tuple[str, ...] = ()
    """Names, globs, `re:` regexes or dotted paths; empty for every operator."""
    exclude: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    """Variants of operators (`in-place`) to measure beside those without one."""
    size: str = "default"
    int64_tensor: bool = False
    shapes: dict[str, tuple[int, ...]] = {}
    """Shapes that replace a rule's, by argument name."""
    values: dict[str, Argument] = {}
    """Values that replace a rule's, by argument name."""
    swept_shapes: dict[str, tuple[int | str, ...]] = {}
    """Such shapes with swept variables among their extents."""
    sweeps: dict[str, tuple[int, ...]] = {}
    """Values of the swept variables, in the order of their options."""
    backward: bool = True
    configurations: int | None = None
    """Maximum number of configurations of each operator; None for all."""
    shuffle: bool = False
    """Whether the cases are in a random order, by the settings' seed, instead of by name."""
    rounds: int = 1
    """How many times all cases are measured."""
    batch_factor: float = 1.0
    """Factor by which the batch of recorded calls is scaled."""
    skip_views: bool = False
    """Whether recorded calls that only make views are not measured."""
    chains: int = 0
    """Number of a recorded program's chains to measure beside its calls."""
    fuzz: Fuzz | None = None
    """Random shapes in place of the rules'."""
    partners: tuple[str, ...] = ()
    """Operators that these are compared with, whose names of arguments are taken as well."""
    ids: tuple[str, ...] = ()
    """Ids, or beginnings of ids, of the cases to measure; empty for all."""
    partition: tuple[int, int] | None = None
    """Which part of the cases to measure, from 0, and the number of parts; None for all."""
    phase: Literal["train", "predict"] | None = None
    """Phase of all cases; None for that of each operator's rule."""
    settings: Settings = Settings()
    rules: bool = False
    """Whether cases say what made their inputs."""
    dtype_given: bool = False
    """Whether the user chose the dtype of the settings, to which a user's arrays are then
    converted."""


def select(
    operators: Sequence[Operator], selection: Selection, functions: Iterable[str] = ()
) -> list[Operator]:
    """Returns the operators of a selection, in the order of `operators`. `functions` are paths that
    an error may suggest.

    Raises `UnknownOperatorError` for a pattern that matches none, and `UsageError` for an unknown
    category or namespace.
    """
    check_groups(operators, selection)
    usual = _find_usual(operators, selection)
    asked = _asked_variants(selection)
    plain = [operator for operator in usual if asked.issuperset(operator.variants)]
    wanted = {operator.target for operator in usual} if not selection.patterns else set()
    all_named, usual_named, plain_named = map(ByName, (operators, usual, plain))
    for pattern in selection.patterns:
        # What has no public name is named by the form that returns its result.
        found = usual_named.matching(pattern) if plain_named.matching(pattern) else []
        found = found or _plainest(all_named.matching(pattern))
        if not found:
            raise unknown_operator(pattern, operators, functions)
        wanted.update(operator.target for operator in found)
    excluded = [_make_excluder(pattern, operators) for pattern in selection.exclude]

    def passes_filters(operator: Operator) -> bool:
        return (
            (not selection.categories or operator.category in selection.categories)
            and (
                not selection.namespaces
                or bool(set(operator.namespaces) & set(selection.namespaces))
            )
            and (not selection.tags or _is_tagged(operator, selection))
            and not any(matches(operator) for matches in excluded)
        )

    return [
        operator for operator in operators if operator.target in wanted and passes_filters(operator)
    ]


def _find_usual(operators: Iterable[Operator], selection: Selection) -> list[Operator]:
    """Returns the operators that a run without names has."""
    offered = [
        operator
        for operator in operators
        if not operator.on_request or not set(operator.namespaces).isdisjoint(selection.namespaces)
    ]
    asked = _asked_variants(selection)
    found = [
        operator for operator in offered if operator.caller or asked.issuperset(operator.variants)
    ]
    if not selection.tags:
        return found
    # And those that write in place, where the plain operator has not the tag.
    names = {
        name for operator in found if _is_tagged(operator, selection) for name in operator.names
    }
    others = [operator for operator in offered if names.isdisjoint(operator.names)]
    return [*found, *(operator for operator in others if _is_tagged(operator, selection))]


def _asked_variants(selection: Selection) -> frozenset[str]:
    # A framework's tag says which operators it is about, those of no public name included.
    return frozenset({*selection.variants, *([INTERNAL] if selection.tags else [])})


def _is_tagged(operator: Operator, selection: Selection) -> bool:
    return not set(operator.tags).isdisjoint(selection.tags)


INTERNAL = "internal"
"""The variant of operators without a public name."""


def _plainest(operators: Iterable[Operator]) -> list[Operator]:
    """Of one name, not the form that writes its result to a tensor."""
    listed = list(operators)
    fewest = min((len(operator.variants) for operator in listed), default=0)
    return [operator for operator in listed if len(operator.variants) == fewest]


class ByName:
    """Operators by their names, which thousands of patterns look up."""

    def __init__(self, operators: Iterable[Operator]) -> None:
        self._operators = list(operators)
        self._prefixes = {prefix for operator in self._operators for prefix in operator.prefixes}

    @functools.cached_property
    def _places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, operator in enumerate(self._operators):
            for name in operator.names:
                found.setdefault(name, []).append(place)
        return found

    def matching(self, pattern: str) -> list[Operator]:
        """Returns the operators that a pattern matches, in their order. Raises as
        `make_matcher`."""
        prefixes = filter(pattern.startswith, self._prefixes)
        rests = (pattern[len(prefix) :] for prefix in prefixes)
        places = {place for name in (pattern, *rests) for place in self._places.get(name, ())}
        named = [self._operators[place] for place in sorted(places)]
        found = [each for each in named if _without_prefix(pattern, each) in each.names]
        return found or list(filter(make_matcher(pattern, self._operators), self._operators))


def find_matching(pattern: str, operators: Iterable[Operator]) -> list[Operator]:
    """Returns the operators that a pattern matches. Raises as `make_matcher`."""
    return ByName(operators).matching(pattern)


def is_path(pattern: str) -> bool:
    """Whether a pattern can be a callable's path: dotted, `FILE:NAME` or `MODULE:NAME`."""
    if pattern.startswith(REGEX) or "*" in pattern:
        return False
    return "." in pattern or ":" in pattern


def split_paths(
    patterns: Iterable[str], operators: Sequence[Operator]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the patterns that are paths of callables and match no operator, and the others."""
    listed, named = tuple(patterns), ByName(operators)
    paths = dict.fromkeys(p for p in listed if is_path(p) and not named.matching(p))
    return tuple(paths), tuple(pattern for pattern in listed if pattern not in paths)


def callable_at(framework: Framework, path: str, operators: Sequence[Operator]) -> Target:
    """Returns the target at a path, which matches no operator. Raises `UnknownOperatorError`, with
    the operator that has taken the place of one that is gone."""
    try:
        return framework.naming.callable_target(path)
    except UnknownOperatorError:
        if successor_of(path, operators):
            raise unknown_operator(path, operators) from None
        raise


def check_groups(operators: Iterable[Operator], selection: Selection) -> None:
    """Raises `UsageError` for a category or namespace that no operator is in."""
    listed = list(operators)
    owner = listed[0].framework if listed else ""
    asked = {
        "category": selection.categories,
        "namespace": selection.namespaces,
        "tag": selection.tags,
        "variant": selection.variants,
    }
    for kind, words in asked.items():
        known = groups(kind, listed)
        for word in words:
            # The name of a group of the other kind.
            others = [] if word in known else group_options(word, listed)
            if others:
                raise UsageError(f"no {kind} is called {word!r}{did_you_mean(others)}")
        check_known(kind, words, known, owner)


def check_known(kind: str, words: Iterable[str], known: Iterable[str], owner: str = "") -> None:
    """Raises `UsageError` for the first unknown word. `kind` is what the words name, `owner` the
    framework that has the known ones."""
    listed = list(known)
    for word in words:
        if word not in listed:
            raise unknown(kind, word, listed, owner)


def as_operator(case: Case) -> Operator:
    """Returns an operator of a case's name, for patterns to match: a file has no operators. The
    groups that a snippet is in are its aliases."""
    target = case.target
    groups = target.groups if isinstance(target, SnippetTarget) else ()
    return Operator(framework=target.framework, namespace="", name=case.label, aliases=groups)


def make_matcher(pattern: str, operators: Iterable[Operator]) -> Callable[[Operator], bool]:
    """Returns a predicate: whether an operator has a name that the pattern matches, in upper or
    lower case. A pattern that is exactly the name of some of the `operators` matches only these.

    Raises `UsageError` for a malformed regular expression.
    """
    if pattern == REGEX:
        raise UsageError(f"{pattern!r} has no expression; write it after the colon")
    if pattern.startswith(REGEX):
        try:
            bounded = BoundedPattern(re.compile(pattern[len(REGEX) :], re.IGNORECASE))
        except re.error as error:
            raise UsageError(f"{pattern!r} is not a regular expression: {error}") from error
        return lambda operator: any(bounded.search(name) for name in operator.names)
    if any(_without_prefix(pattern, operator) in operator.names for operator in operators):
        return lambda operator: _without_prefix(pattern, operator) in operator.names

    def matches(operator: Operator) -> bool:
        # A glob without a wildcard is a name.
        folded = _without_prefix(pattern, operator).casefold()
        return any(fnmatch.fnmatchcase(name.casefold(), folded) for name in operator.names)

    return matches


def _without_prefix(pattern: str, operator: Operator) -> str:
    for prefix in operator.prefixes:
        if pattern.startswith(prefix):
            return pattern[len(prefix) :]
    return pattern


def _make_excluder(pattern: str, operators: Iterable[Operator]) -> Callable[[Operator], bool]:
    """Returns the matcher of excluded operators. Raises `UnknownOperatorError` if there are none:
    a misspelt pattern would otherwise go unnoticed."""
    listed = list(operators)
    matches = make_matcher(pattern, listed)
    if not any(map(matches, listed)):
        names = [name for operator in listed for name in operator.names]
        raise UnknownOperatorError(
            f"--exclude: no operator is called {pattern!r}{suggest(pattern, names)}"
        )
    return matches


def group_options(word: str, operators: Iterable[Operator]) -> list[str]:
    """Returns the options that select the groups of this name, in any case and number."""
    listed = list(operators)
    return [
        f"--{kind} {name}"
        for kind in GROUPS
        for name in groups(kind, listed)
        if word.casefold() in (name, f"{name}s")
    ]


def successors_of(framework: str) -> Mapping[str, str]:
    """Returns former names of a framework's operators, each with the present operator."""
    package = package_of(framework) if framework in available() else None
    return package.successors if package is not None else {}


def successor_of(pattern: str, operators: Sequence[Operator]) -> str | None:
    """Returns the operator in the place of a former one of this name, in any overload, if this
    version has it. The pattern matches no operator."""
    former = successors_of(operators[0].framework) if operators else {}
    for operator in operators:
        name = _without_prefix(pattern.removeprefix(f"{operator.framework}."), operator)
        for old in (name, name.partition(".")[0]):
            if former.get(old) in operator.names:
                return former[old]
    return None


def _overloads(pattern: str, operators: Iterable[Operator]) -> list[str]:
    """Of an operator of which a pattern names one that it has not, the most similar first."""
    found = {
        operator.label: SequenceMatcher(a=pattern, b=operator.label).ratio()
        for operator in operators
        if operator.is_usual
        and _without_prefix(pattern, operator).rpartition(".")[0] == operator.name
    }
    return sorted(found, key=found.__getitem__, reverse=True)[:SUGGESTED]


SUGGESTED = 5
"""Most operators that an error suggests: one line of a terminal."""


LISTED = "; opperf list prints all operators"
"""Advice where no name is near."""


def unknown_operator(
    pattern: str, operators: Iterable[Operator], functions: Iterable[str] = ()
) -> UnknownOperatorError:
    """Returns the error for a pattern that matches no operator: with the operator in its place, the
    option that selects the group of this name, the overloads that an operator of this name has, or
    near names of operators and functions."""
    listed = list(operators)
    former = successors_of(listed[0].framework) if listed else {}
    successor = successor_of(pattern, listed)
    if successor:
        return UnknownOperatorError(
            f"no operator is called {pattern!r}: {successor} has taken its place"
        )
    names = [
        name
        for operator in listed
        if operator.is_usual
        for name in (operator.label, operator.name, *operator.aliases)
    ]
    # A function of an operator's name is the operator; internal names are not suggested.
    known = {name.joined for name in map(parse, names) if not name.is_internal}
    others = [
        path
        for path in functions
        if parse(name := path.rpartition(".")[2]).joined not in known
        # What is left of it raises an error.
        and name not in former
    ]
    near = (
        group_options(pattern, listed)
        or _overloads(pattern, listed)
        or nearest(pattern, [*names, *others], SUGGESTED)
    )
    return UnknownOperatorError(f"no operator is called {pattern!r}{did_you_mean(near) or LISTED}")
