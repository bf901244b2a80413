"""How fast earlier runs here measured their cases, which forecasts of later runs go by.

Cached values: those that depend only on a framework's build and opperf's rules.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, TypeVar

import msgspec

import opperf
from opperf.decoding import read_as
from opperf.errors import OutputError, one_line
from opperf.execution.executor import ISOLATED, LOCAL
from opperf.folders import FOLDER, cache_folder
from opperf.frameworks import identity
from opperf.model import Case, Listing, Record, Status
from opperf.model.declaring import Struct
from opperf.results.output import replace

Kept = TypeVar("Kept")


def cache_file(kind: str, framework: str) -> Path | None:
    """Returns the file for a kind of value of the framework's build; None if that is unknown."""
    build = identity(framework)
    return None if build is None else cache_folder() / kind / f"{framework}-{_key(build)}.json"


def load(path: Path | None, kind: type[Kept]) -> tuple[Kept | None, list[str]]:
    """Returns the value in a file of the cache, or None, and warnings about an unreadable file."""
    if path is None:
        return None, []
    try:
        return read_as(path, kind), []
    except (FileNotFoundError, NotADirectoryError):
        # The first time for this build, or a folder that `store` warns about.
        return None, []
    except (OSError, msgspec.DecodeError) as error:
        return None, [f"{path} cannot be read and is made again: {one_line(str(error))}"]


def store(path: Path | None, value: object, what: str) -> list[str]:
    """Writes a value to the cache; returns warnings, which name it `what`, if that fails."""
    if path is None:
        return []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, msgspec.json.encode(value))
    except (OSError, OutputError) as error:
        return [f"{what} is not cached: {one_line(str(error))}; name another folder in {FOLDER}"]
    return []


def _key(build: str) -> str:
    package = Path(opperf.__file__).parent
    newest = max(
        entry.stat().st_mtime_ns
        for folder, _, _ in os.walk(package)
        for entry in os.scandir(folder)
        if entry.name.endswith(".py")
    )
    text = f"{build}; {package} {opperf.__version__} {newest}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_listing(name: str, ask: Callable[[], Listing]) -> tuple[Listing, list[str]]:
    """Returns a framework's listing, from the cache or `ask`, and warnings about the cache."""
    path = cache_file("registry", name)
    listing, warnings = load(path, Listing)
    if listing is None:
        listing = ask()
        warnings += store(path, listing, "the list of operators")
    return listing, warnings


KIND = "pace"

FEWEST_RECORDS = 20
"""Fewest records that say something of other cases: times of cases differ a thousandfold."""

MOST_CASES = 20_000
"""Most cases of a kind whose pace is kept: those of several whole registries, in a megabyte."""

MOST_SLOWED = 4.0
"""Most that the gauge counts: beyond it, cases end by their time limit."""

OUTLYING = 8.0
"""Ratio of a case's pace to that of all, or to its own earlier one, up to which it counts: what is
beyond may be a stall. A case that always takes longer is known after two or three runs."""

NARROWING = 50
"""Most steps in which the pace without stalls is found: with a stalled case of twenty, each step
takes two fifths of a stall, so that a millionfold one is gone after sixteen."""

PARTS = 4
"""Parts of a run, in its order, in which like operators follow each other. Their paces say how much
those of other operators may differ."""

MANY_RECORDS = 200
"""Fewest records whose parts say how much other operators may differ: those of one category may
take a thirtieth of what is expected, and those of another all of it."""

MOST_VISIT_S = 0.02
"""Most seconds between two cases, in which a record is written: 3 ms on a quiet machine, 14 ms with
four busy processes on each core."""

KINDS = COUNTED, TIMED = "counted", "timed"
"""Kinds of cases: those with a number of calls, and those that end by their time or once they are
precise. What is expected of the second kind is their limit, of which they take from a hundredth to
all, so that neither says anything of the other."""


def kind_of(case: Case) -> str:
    """Returns the kind of a case, of those that have a pace of their own."""
    return TIMED if case.settings.runs is None else COUNTED


class Taken(NamedTuple):
    """Seconds that a round of a case took, and was expected to take."""

    id: str
    taken_s: float
    expected_s: float


class Paces(Struct, frozen=True):
    """Seconds that cases of a kind took over those expected, at the pace of the quiet machine."""

    cases: dict[str, float] = {}
    """By the case's id."""
    usual: float = 0.0
    """Of all cases of a run; 0 if no run was long enough."""
    low: float = 0.0
    high: float = 0.0
    """The lowest and highest that other cases may have."""

    def learn(self, taken: Sequence[Taken], slowed: float) -> Paces:
        """Returns the paces with those of a run on a machine that was so much slower."""
        usual, low, high = self.usual, self.low, self.high
        if len(taken) >= FEWEST_RECORDS:
            usual, low, high = (pace / slowed for pace in paces_of(taken))
            if len(taken) < MANY_RECORDS:
                # Others may take what is expected of them where nothing is known.
                low, high = min(low, 1.0), max(high, 1.0)
        cases = dict(self.cases)
        for id, taken_s, expected_s in taken:
            longest = OUTLYING * max(usual or math.inf, self.cases.get(id, 0.0))
            # The latest ones stay.
            cases.pop(id, None)
            cases[id] = min(longest, taken_s / expected_s / slowed)
        return Paces(dict(list(cases.items())[-MOST_CASES:]), usual, low, high)


def paces_of(taken: Sequence[Taken]) -> tuple[float, float, float]:
    """Returns the pace of all cases, and the lowest and highest of a part, without stalls."""
    pace = _pace(taken, math.inf)
    for _ in range(NARROWING):
        narrower = _pace(taken, OUTLYING * pace)
        if narrower >= pace:
            break
        pace = narrower
    ends = [len(taken) * part // PARTS for part in range(PARTS + 1)]
    parts = [
        _pace(taken[begin:end], OUTLYING * pace)
        for begin, end in zip(ends, ends[1:], strict=False)
        if begin < end
    ]
    return pace, min(parts), max(parts)


def _pace(taken: Sequence[Taken], longest: float) -> float:
    counted_s = sum(min(taken_s, longest * expected_s) for _, taken_s, expected_s in taken)
    return counted_s / sum(expected_s for _, _, expected_s in taken)


class Learnt(Struct, frozen=True):
    """The paces of earlier runs, and what these took beside their cases, on the quiet machine."""

    paces: dict[str, Paces] = {}
    """By the kind of cases."""
    visit_s: float = 0.0
    """Seconds between two cases."""
    beside_s: float = 0.0
    """Seconds of a run beside its cases and visits: starts of workers, second measurements."""
    gauge_s: float = 0.0
    """Seconds of the gauge on the quiet machine; 0 if it was never read."""

    def slowed(self, gauge_s: float) -> float:
        """Returns the factor by which the machine is slower than when it was quiet."""
        if not self.gauge_s or not gauge_s:
            return 1.0
        return min(MOST_SLOWED, max(1.0, gauge_s / self.gauge_s))

    def of(self, kind: str) -> Paces:
        """Returns the paces of a kind of cases; empty ones if no run had any."""
        return self.paces.get(kind, Paces())


def load_learnt(framework: str, executor: str = LOCAL) -> Learnt:
    """Returns what earlier runs of a framework's build by this executor say."""
    # A file that cannot be read is made again after the run, and said by nobody: it only forecasts.
    return load(_file(framework, executor), Learnt)[0] or Learnt()


def _file(framework: str, executor: str) -> Path | None:
    return cache_file(KIND if executor == LOCAL else f"{KIND}-{executor}", framework)


def times_by_kind(
    records: Iterable[Record], cost_s: Callable[[Case], float]
) -> dict[str, list[Taken]]:
    """Returns what the cases that ended ok took, by their kind."""
    found: dict[str, list[Taken]] = {}
    for record in records:
        if record.status is Status.OK and record.wall_s > 0:
            taken = Taken(record.id, record.wall_s / record.rounds, cost_s(record.case))
            found.setdefault(kind_of(record.case), []).append(taken)
    return found


def learn(
    learnt: Learnt,
    records: Sequence[Record],
    elapsed_s: float,
    gauges_s: Sequence[float],
    cost_s: Callable[[Case], float],
    lanes: int = 1,
    most_visit_s: float = MOST_VISIT_S,
) -> Learnt:
    """Returns what is known after a run, which took `elapsed_s` for its records, measured in so
    many `lanes` side by side. `gauges_s` are the gauge's seconds before it and after it."""
    quietest = min(filter(None, (learnt.gauge_s, *gauges_s)), default=0.0)
    slowed = Learnt(gauge_s=quietest).slowed(fmean(gauges_s))
    cases_s = sum(record.wall_s for record in records) / lanes
    # Of a cluster, how many nodes measure at once shows in this alone.
    faster = max(1.0, cases_s / elapsed_s)
    taken = times_by_kind(records, cost_s)
    paces = learnt.paces | {
        kind: learnt.of(kind).learn(own, slowed * faster) for kind, own in taken.items()
    }
    visit_s, beside_s = learnt.visit_s, learnt.beside_s
    if sum(map(len, taken.values())) >= FEWEST_RECORDS:
        visits = sum(record.rounds for record in records)
        other_s = max(0.0, elapsed_s - cases_s) / slowed
        visit_s = min(most_visit_s, other_s / visits)
        beside_s = other_s - visits * visit_s
    return Learnt(paces, visit_s, beside_s, quietest)


def keep_learnt(
    records: Iterable[Record],
    elapsed_s: float,
    gauges_s: Sequence[float],
    cost_s: Callable[[Case], float],
    lanes: int = 1,
    executor: str = LOCAL,
) -> list[str]:
    """Adds what a run says to the cache, as `learn`; returns warnings if that fails."""
    by_framework: dict[str, list[Record]] = {}
    for record in records:
        by_framework.setdefault(record.case.target.framework, []).append(record)
    if len(by_framework) != 1:
        # How much of the elapsed time is whose, nobody knows.
        return []
    ((framework, own),) = by_framework.items()
    # A process for each case starts between all of them.
    most_visit_s = math.inf if executor == ISOLATED else MOST_VISIT_S
    before = load_learnt(framework, executor)
    learnt = learn(before, own, elapsed_s, gauges_s, cost_s, lanes, most_visit_s)
    return store(_file(framework, executor), learnt, "the pace of the run")
