"""Capabilities of a system: what `requires_capabilities` of benches see of it, with what the option
`--capabilities` says in the place of what there is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opperf.errors import UsageError, unknown
from opperf.suites.bench import Bench
from opperf.suites.expressions import FUNCTIONS, check, evaluate
from opperf.suites.reading import parse
from opperf.suites.system import System

OPTION = "--capabilities"


def read_capabilities(texts: Iterable[str]) -> dict[str, Any]:
    """Returns the values of a command line's `NAME=VALUE,...`, which are YAML, by their names.
    Raises `UsageError` for what is no assignment."""
    found: dict[str, Any] = {}
    for text in texts:
        for assignment in text.split(","):
            name, equals, value = (part.strip() for part in assignment.partition("="))
            words = name.split(".")
            if not equals or not value or not all(map(str.isidentifier, words)):
                raise UsageError(f"{OPTION} {text}: write NAME=VALUE, such as nodes=2")
            found[name] = parse(value, f"{OPTION} {assignment}").plain()
    return found


def capabilities_of(system: System) -> dict[str, Any]:
    """Returns what expressions know of a system, by name. A number that is given for a list, as
    that of nodes, is its length."""
    found = system.names()
    for path, value in system.capabilities.items():
        *outer, last = path.split(".")
        inside = found
        for word in outer:
            own = inside.get(word)
            inside[word] = dict(own) if isinstance(own, dict) else {}
            inside = inside[word]
        listed = inside.get(last)
        if isinstance(listed, list) and isinstance(value, int) and not isinstance(value, bool):
            value = [*listed[:value], *({} for _ in range(value - len(listed)))]
        inside[last] = value
    return found


def check_capabilities(system: System, benches: Iterable[Bench]) -> None:
    """Raises `UsageError` for a capability that neither the system nor an expression has."""
    known = {*system.names()}
    for bench in benches:
        for expression in bench.requires_capabilities:
            words = {node.id for node in ast.walk(check(expression)) if isinstance(node, ast.Name)}
            known |= words - FUNCTIONS.keys()
    for path in system.capabilities:
        name = path.partition(".")[0]
        if name not in known:
            raise unknown("capability", name, sorted(known))


def obstacles(bench: Bench, system: System) -> list[str]:
    """Returns why a bench cannot run on a system, by its `requires_capabilities`. Raises
    `UsageError`, with the place, for an expression that fails."""
    return list(_obstacles(bench, capabilities_of(system)))


def _obstacles(bench: Bench, names: Mapping[str, Any]) -> Iterator[str]:
    for expression in bench.requires_capabilities:
        try:
            holds = evaluate(expression, names)
        except UsageError as error:
            at = bench.locations.get("requires_capabilities", bench.name)
            raise UsageError(f"{at}: {error}") from error
        if not holds:
            yield f"{expression} does not hold on this system"
