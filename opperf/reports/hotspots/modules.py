"""The modules of a recorded program as a tree, with the time of the operators in each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from opperf.frameworks.calls import BACKWARD, OPTIMIZER
from opperf.model import CallSite
from opperf.reports.hotspots.data import Hotspots
from opperf.reports.hotspots.places import (
    is_number,
    line_text,
    phase_of,
    site_times,
    united_name,
    united_path,
)
from opperf.reports.hotspots.times import totals

MOST_DEPTH = 64
"""Most modules of a path, more than any model nests; the rest of a longer one is one name."""


class _Operator(NamedTuple):
    name: str
    phase: str
    is_again: bool = False
    """Whether its calls are those of the forward pass, which has them too."""


@dataclass
class Amount:
    """Calls, and their time in nanoseconds, or their number where calls are counted."""

    calls: int = 0
    time: float = 0.0

    def add(self, calls: int, time: float) -> None:
        self.calls += calls
        self.time += time


@dataclass
class Module:
    """A module, or the program: its modules and operators, in the order of their first calls."""

    name: str
    path: str
    modules: dict[str, Module] = field(default_factory=dict)
    operators: dict[_Operator, Amount] = field(default_factory=dict)
    """Those that it calls itself."""
    total: Amount = field(default_factory=Amount)
    """Of all operators in it and in its modules."""
    phases: dict[str, float] = field(default_factory=dict)
    """Their time by phase."""

    def add_up(self) -> Amount:
        """Sets the totals of the module and of all in it, and returns that of the module."""
        calls = [own.calls for operator, own in self.operators.items() if not operator.is_again]
        times = [own.time for own in self.operators.values()]
        phases = [(operator.phase, own.time) for operator, own in self.operators.items()]
        for module in self.modules.values():
            total = module.add_up()
            calls.append(total.calls)
            times.append(total.time)
            phases += module.phases.items()
        self.total = Amount(sum(calls), math.fsum(times))
        self.phases = totals(phases)
        return self.total

    def slowest(self) -> str:
        """Returns the operator with the most time in the module and below."""
        times = totals(
            (operator.name, own.time)
            for _, module in self.walk()
            for operator, own in module.operators.items()
        )
        return max(times, key=lambda name: times[name], default="")

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Module]]:
        """Yields the module and all in it, each before those in it, with their depth."""
        yield depth, self
        for module in self.modules.values():
            yield from module.walk(depth + 1)


def _path_of(site: CallSite) -> tuple[str, ...]:
    """Returns the names of the modules of a place; outside of modules, that of the phase or
    function, if it is known."""
    phase = phase_of(site.phase)
    if phase == OPTIMIZER:
        # It calls no modules; a trace has its name.
        return tuple(filter(None, (phase, site.module)))
    if not site.module:
        outside = phase if phase == BACKWARD else ""
        return tuple(filter(None, [outside or site.function or line_text(site)]))
    parts = site.module.split(".")
    if len(parts) > MOST_DEPTH:
        parts[MOST_DEPTH - 1 :] = [".".join(parts[MOST_DEPTH - 1 :])]
    return tuple(parts)


def module_tree(found: Hotspots) -> Module:
    """Returns the program as the root of a tree, of all cases of a ranking."""
    root = Module("all", "")
    for entry in found.timed:
        for site, phase, time, is_again in site_times(entry, found.basis):
            module = root
            for name in _path_of(site):
                path = f"{module.path}.{name}" if module.path else name
                module = module.modules.setdefault(name, Module(name, path))
            operator = _Operator(entry.record.case.label, phase_of(phase), is_again)
            module.operators.setdefault(operator, Amount()).add(site.count, time)
    root.add_up()
    return root


def unite_alike(module: Module) -> Module:
    """Returns a tree in which the numbered modules of a list that call the same operators are one,
    as the layers of a model: `0-11`."""
    united = Module(module.name, module.path, operators=module.operators)
    groups: dict[object, list[Module]] = {}
    for inner in module.modules.values():
        key = _structure(inner) if is_number(inner.name) else inner.name
        groups.setdefault(key, []).append(inner)
    for own in groups.values():
        made = unite_alike(_merged(own))
        united.modules[made.name] = made
    united.add_up()
    return united


def _structure(module: Module) -> tuple[object, ...]:
    return (
        frozenset(module.operators),
        tuple((name, _structure(inner)) for name, inner in sorted(module.modules.items())),
    )


def _merged(modules: list[Module]) -> Module:
    if len(modules) == 1:
        return modules[0]
    merged = Module(
        united_name([module.name for module in modules]),
        united_path([module.path for module in modules]),
    )
    for module in modules:
        for operator, own in module.operators.items():
            merged.operators.setdefault(operator, Amount()).add(own.calls, own.time)
    for name in modules[0].modules:
        merged.modules[name] = _merged([module.modules[name] for module in modules])
    return merged
