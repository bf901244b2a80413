"""Where a recorded program called its operators."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from opperf.frameworks.calls import BACKWARD, FORWARD, OPTIMIZER
from opperf.model import PASSES, CallSite, Case
from opperf.reports.hotspots.data import Hotspots, Timed
from opperf.reports.hotspots.times import MEASURED, RECORDED_TIMES, Basis, time_of

UNKNOWN = CallSite()
"""The place of calls of which none is known."""

PACKAGES = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")
"""The folder of installed packages at the beginning of a path."""

MOST_DIGITS = 6
"""Of the number of a module: no list of modules is as long as a million."""


class Place(NamedTuple):
    """Calls of one operator at one place."""

    site: CallSite
    """The module is a pattern if there are several."""
    calls: int
    time: float
    """Of the calls in nanoseconds, or their number where calls are counted."""
    share: float
    """Of the time of all calls of the ranking."""


PHASES = (FORWARD, BACKWARD, OPTIMIZER)
"""Phases of a step."""

OTHER = "other"
"""Stands for an unknown phase."""


def in_order(phases: Iterable[str]) -> list[str]:
    """Returns different phases in the order of a step, an unknown one last."""
    return sorted(set(phases), key=[*PHASES, OTHER].index)


def phase_of(name: str) -> str:
    """Returns the phase of a place, one of `PHASES` or `OTHER`."""
    return name if name in PHASES else OTHER


def line_text(site: CallSite) -> str:
    """Returns the file and line of a place, without the folder of installed packages."""
    if not site.file:
        return site.function
    file = PACKAGES.sub("", site.file)
    return f"{file}:{site.line}" if site.line else file


def has_places(found: Hotspots) -> bool:
    """Returns whether a place of some calls is known."""
    return any(entry.record.case.sites for entry in found.timed)


def sites_of(case: Case, time: float, basis: Basis) -> Iterator[tuple[CallSite, float]]:
    """Yields the places of a case and the time of its calls at each; the sum is that of all its
    calls. `time` is that of a call."""
    sites = list(case.sites)
    left = case.count - sum(site.count for site in sites)
    if left > 0:
        sites.append(msgspec.structs.replace(UNKNOWN, count=left))
    # A measured case takes the same everywhere.
    is_timed = basis is RECORDED_TIMES and left <= 0 and any(site.time_ns for site in sites)
    weights = [(site.time_ns or 0.0) if is_timed else float(site.count) for site in sites]
    total = math.fsum(weights)
    for site, weight in zip(sites, weights, strict=True):
        yield site, case.count * time * (weight / total if total else 0.0)


class _SiteTime(NamedTuple):
    site: CallSite
    phase: str
    """That of the place, or of the backward pass that was measured with its calls."""
    time: float
    """In nanoseconds, or the number of calls."""
    is_again: bool
    """Whether the calls are those of the forward pass, which has them too."""


def site_times(entry: Timed, basis: Basis) -> Iterator[_SiteTime]:
    """Yields the places of a record's calls, for each pass that was measured."""
    record = entry.record
    if basis is not MEASURED:
        for site, time in sites_of(record.case, entry.time.value, basis):
            yield _SiteTime(site, site.phase, time, False)
        return
    passes = (entry.observation.metric,) if entry.observation.metric in PASSES else PASSES
    known = {name: figure for name in passes if (figure := time_of(record, (name,)))}
    for name, figure in known.items():
        for site, time in sites_of(record.case, figure.value, basis):
            is_backward = name == BACKWARD
            phase = BACKWARD if is_backward else site.phase
            yield _SiteTime(site, phase, time, is_backward and len(known) > 1)


def places_of(timed: Iterable[Timed], found: Hotspots) -> list[Place]:
    """Returns the places of some cases of a ranking, those that take most time first."""
    calls: dict[CallSite, int] = {}
    times: dict[CallSite, float] = {}
    for entry in timed:
        for site, phase, time, _ in site_times(entry, found.basis):
            place = msgspec.structs.replace(site, count=1, time_ns=None, phase=phase)
            calls[place] = calls.get(place, 0) + site.count
            times[place] = times.get(place, 0.0) + time
    total = found.time.value
    places = [
        Place(site, calls[site], time, time / total if total else 0.0)
        for site, time in times.items()
    ]
    return sorted(places, key=lambda place: (-place.time, -place.calls))


def unite_numbered(places: Iterable[Place]) -> list[Place]:
    """Returns the places, those that differ in the numbers of modules alone as one: the layers of a
    model."""
    groups: dict[tuple[object, ...], list[Place]] = {}
    for place in places:
        parts = tuple(None if is_number(part) else part for part in place.site.module.split("."))
        site = msgspec.structs.replace(place.site, module="")
        groups.setdefault((site, parts), []).append(place)
    united = [
        Place(
            msgspec.structs.replace(
                own[0].site, module=united_path([place.site.module for place in own])
            ),
            sum(place.calls for place in own),
            math.fsum(place.time for place in own),
            math.fsum(place.share for place in own),
        )
        for own in groups.values()
    ]
    return sorted(united, key=lambda place: (-place.time, -place.calls))


def united_path(paths: Sequence[str]) -> str:
    """Returns paths that differ in numbers alone as one: `layers.0-11.norm`."""
    parts = zip(*(path.split(".") for path in paths), strict=True)
    return ".".join(united_name(list(own)) for own in parts)


def is_number(name: str) -> bool:
    """Returns whether a name is the number of a module in a list."""
    return name.isdecimal() and len(name) <= MOST_DIGITS


def united_name(names: Sequence[str]) -> str:
    """Returns different numbers as ranges: `0-3,5`; the first of names that are equal."""
    if len(set(names)) == 1:
        return names[0]
    numbers = sorted({int(name) for name in names})
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ",".join("-".join(map(str, ends)) for ends in ranges)
