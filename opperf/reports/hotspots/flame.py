"""The flame graph of a recorded program: its modules, and the operators in each."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

from opperf.frameworks.calls import BACKWARD, FORWARD, OPTIMIZER
from opperf.plurals import counted
from opperf.reports.hotspots.account import Account
from opperf.reports.hotspots.data import Hotspots
from opperf.reports.hotspots.modules import Amount, Module
from opperf.reports.hotspots.places import PHASES
from opperf.reports.hotspots.times import CALLS, MEASURED
from opperf.reports.model import FlameGraph, Frame
from opperf.results.units import time_text

DRAWN = 0.0003
"""Share of the graph of the narrowest frame that is drawn: a third of a pixel."""

LEAST_EXPLAINED = 0.1
"""Share of the graph that operators take at least, as narrower ones could not be told apart: where
they explain less of the program, the rest is not drawn. Its start may have been recorded too."""

GREY, WHITE = "#e4e4df", "#f6f6f3"
"""Colours of modules, and of what no operator explains."""

COLOURS = {
    FORWARD: ("#f2b266", "#f5c07f", "#efa551", "#f7cd99"),
    BACKWARD: ("#8fb8e8", "#a3c6ee", "#7eaade", "#b4d2f2"),
    OPTIMIZER: ("#98d3a0", "#abdcb1", "#86c890", "#bce4c1"),
}
"""Colours of operators by phase; those of an unknown one are as of the forward pass."""

UNEXPLAINED = "not explained"

OF_COMPILED = "#cbb8e8"
"""Colour of compiled programs, whatever phase they are of."""


def flame_graph(found: Hotspots, tree: Module, accounts: Sequence[Account]) -> FlameGraph:
    """Returns the flame graph of a tree of modules. A step of a single program is as wide as its
    own time, if that is more than its operators and compiled programs explain, and they explain
    some of it."""
    compiled = _compiled(found, accounts)
    begin = found.time.value
    explained = begin + sum(compiled.values())
    whole = max(explained, _program_time(found, accounts, explained))
    frames = list(_frames(found, tree, whole)) if whole else []
    if frames and begin < whole:
        first = frames[0]
        frames[0] = first._replace(width=1.0, hover=f"{first.name}\n{time_text(whole)}")
        beside = [
            (name, time, OF_COMPILED, "a compiled program") for name, time in compiled.items()
        ]
        beside.append((UNEXPLAINED, whole - explained, WHITE, "no operator's time"))
        for name, time, colour, what in beside:
            share = time / whole
            hover = f"{name}\n{time_text(time)}, {100 * share:.1f} %: {what}"
            if share >= DRAWN:
                frames.append(Frame(name, begin / whole, share, 1, colour, hover, name))
            begin += time
    title = "Calls of a program" if found.basis is CALLS else "Time of a program"
    return FlameGraph(title, frames, tuple(_head(found, accounts)))


def _is_single(found: Hotspots, accounts: Sequence[Account]) -> bool:
    """Whether the times are those of one program."""
    files = {entry.observation.file for entry in found.timed}
    return len(accounts) == len(files) == 1 and found.basis is not CALLS


def _compiled(found: Hotspots, accounts: Sequence[Account]) -> dict[str, float]:
    """Returns the times of compiled programs in nanoseconds, by name, without those of their
    operators that are drawn as these."""
    if not _is_single(found, accounts) or not accounts[0].is_comparable:
        return {}
    times = {
        own.program.name: own.time_ns - (own.alone_ns if found.basis is MEASURED else 0.0)
        for own in accounts[0].compiled
    }
    return {name: time for name, time in times.items() if time > 0}


def _program_time(found: Hotspots, accounts: Sequence[Account], explained: float) -> float:
    """Returns the time of all steps of a program in nanoseconds; 0 of one that is not drawn."""
    if not _is_single(found, accounts):
        return 0.0
    (account,) = accounts
    if account.step is None or (found.basis is MEASURED and account.is_elsewhere):
        return 0.0
    time = account.step.value * account.program.steps
    return time if explained >= LEAST_EXPLAINED * time else 0.0


def _head(found: Hotspots, accounts: Sequence[Account]) -> Iterator[str]:
    for account in accounts:
        yield account.program.command
    violet = " Violet: compiled programs." if _compiled(found, accounts) else ""
    what = "their number of calls" if found.basis is CALLS else f"{found.basis.name} time"
    yield (
        f"Modules (grey) and the operators that they call, as wide as {what}. Orange: forward; "
        f"blue: backward; green: optimizer.{violet}"
    )


def _frames(found: Hotspots, tree: Module, whole: float) -> Iterator[Frame]:
    waiting = [(tree, 0.0, 0)]
    while waiting:
        module, begin, depth = waiting.pop()
        hover = _hover(module.path or module.name, module.total, whole, found)
        yield Frame(module.name, begin, module.total.time / whole, depth, GREY, hover, module.name)
        inner = []
        for below in module.modules.values():
            if below.total.time / whole >= DRAWN:
                inner.append((below, begin, depth + 1))
            begin += below.total.time / whole
        for operator, own in module.operators.items():
            width = own.time / whole
            if width >= DRAWN:
                text = operator.name
                if operator.phase in PHASES:
                    text += f" {operator.phase}"
                if module.path:
                    text += f" in {module.path}"
                yield Frame(
                    operator.name,
                    begin,
                    width,
                    depth + 1,
                    _colour(operator.name, operator.phase),
                    _hover(text, own, whole, found),
                    operator.name,
                )
            begin += width
        waiting += reversed(inner)


def _hover(name: str, own: Amount, whole: float, found: Hotspots) -> str:
    calls = counted(own.calls, "call")
    time = "" if found.basis is CALLS else f"{time_text(own.time)}, "
    return f"{name}\n{time}{100 * own.time / whole:.1f} %, {calls}"


def _colour(name: str, phase: str) -> str:
    colours = COLOURS.get(phase, COLOURS[FORWARD])
    # The same for an operator in every graph.
    return colours[zlib.crc32(name.encode("utf-8", "replace")) % len(colours)]
