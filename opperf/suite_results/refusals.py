"""Reasons why two results of a bench are no measurements of the same: other arguments, other
settings, another script, other units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from opperf.model import Case, ScriptTarget, identity_of
from opperf.suite_results.performance import sample_of
from opperf.suite_results.suite_run import BenchResults

LONGEST = 60
"""Most characters of a value that a reason has."""


PYTHON = "python"
"""The setting that is the environment, of which a comparison may be."""


class Fact(NamedTuple):
    """A fact of a program that both sides must share."""

    title: str
    read: Callable[[ScriptTarget], Any]


FACTS = (
    Fact("script", lambda target: PurePath(target.script).name),
    Fact("arguments", lambda target: target.argv),
    Fact("plan", lambda target: _plan_text(target)),
    Fact("observations", lambda target: (target.stop, target.skip)),
    Fact("observed parts", lambda target: target.observe),
)


def _plan_text(target: ScriptTarget) -> str:
    """Returns a plan, without a number of processes that depends on the machine."""
    number = f" n={target.processes}" if target.method == "njobs" else ""
    nodes = f" on {target.nodes} nodes" if target.nodes > 1 else ""
    return f"{target.method}{number}{nodes}"


def why_not_comparable(base: BenchResults, new: BenchResults) -> str:
    """Returns why the results of a bench cannot be compared; empty if they can be."""
    versions = (base.facts.version, new.facts.version)
    if all(versions) and versions[0] != versions[1]:
        return f"the bench's script was changed: {versions[0][:12]} and {versions[1][:12]}"
    if set(base.attempts) & set(new.attempts):
        return _units(base, new)
    cases = (_cases(base), _cases(new))
    if not all(cases):
        # One that never started has no case to differ.
        return ""
    return _differing(*cases)


def _units(base: BenchResults, new: BenchResults) -> str:
    sides = [
        {sample.unit for attempt in bench.all if (sample := sample_of(attempt)) is not None}
        for bench in (base, new)
    ]
    if all(sides) and not sides[0] & sides[1]:
        return f"the units are {_words(sorted(sides[0]))} and {_words(sorted(sides[1]))}"
    return ""


def _cases(bench: BenchResults) -> list[Case]:
    return [attempts[0].record.case for attempts in bench.attempts.values()]


def _differing(base: Sequence[Case], new: Sequence[Case]) -> str:
    """Returns the facts by which the first cases differ."""
    one, other = base[0], new[0]
    if isinstance(one.target, ScriptTarget) and isinstance(other.target, ScriptTarget):
        for fact in FACTS:
            values = (fact.read(one.target), fact.read(other.target))
            if values[0] != values[1]:
                return f"other {fact.title}: {_changed(*values)}"
    settings = [identity_of(case.settings) for case in (one, other)]
    names = [
        name for name in settings[0] if name != PYTHON and settings[0][name] != settings[1][name]
    ]
    if names:
        shown = (f"{name} {settings[0][name]} and {settings[1][name]}" for name in names)
        return f"other settings: {'; '.join(shown)}"
    return "no case is on both sides: the operators, models or inputs differ"


def _changed(base: Any, new: Any) -> str:
    """Returns two values, of sequences only what one of them lacks."""
    if isinstance(base, tuple) and isinstance(new, tuple):
        sides = [[word for word in a if word not in b] for a, b in ((base, new), (new, base))]
        if any(sides):
            return " and ".join(_words(side) or "none" for side in sides)
    return f"{_words(base)} and {_words(new)}"


def _words(value: Any) -> str:
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    text = " ".join(map(str, value)) if is_list else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
