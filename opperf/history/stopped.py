"""Series that have no figures any more: whose case fails, is missing from runs that have the
others, or has values that cannot be. A stop is an event beside changes, open until the series has
figures again.

A failure or an impossible value is one at once. A series is missing if `MISSING_AFTER` commits in a
row lack it, in runs that have most of what was measured with it before, or of the same command. A
run of another command, of a few chosen operators, says nothing of the others.
"""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from opperf.formats.model import WHOLE, SeriesFacts, SeriesKey
from opperf.history.detection.detecting import EXACT
from opperf.history.events import Event, Kind, State, Update
from opperf.history.timelines import Array, History, Outcome, Timeline, possible
from opperf.repository import sha_text

MISSING_AFTER = 2
"""Commits in a row that lack a series, until it is missing: one run may have been interrupted."""

UNSAID_AFTER = 3
"""Commits in a row that lack a series in runs that have less than most, of which nothing says what
they were asked for: two may be of a few chosen operators."""

LATEST = 5
"""Runs before a gap of which the largest says what is measured together: the last one may be of a
few chosen operators."""

MOST = 0.5
"""Share of what is measured together that a run has to have, to say of the others that they are
missing."""


class Stop(str, enum.Enum):
    """How a series stopped: the method of its event."""

    FAILS = "fails"
    MISSING = "missing"
    IMPOSSIBLE = "impossible"


def find_stopped(history: History, outcomes: Sequence[Outcome], branch: str) -> list[Update]:
    """Returns the stops of series, one for all metrics of a case that stopped together, each with
    its reason; those after which there were figures again are fixed."""
    search = _Search(history, outcomes, branch)
    together: dict[Hashable, list[Update]] = defaultdict(list)
    for index, line in enumerate(history.timelines):
        for stop in search.stops(index):
            event, back = stop.event, "" if stop.event.is_open else stop.why
            ends = (event.environment, event.last_good, event.first_bad, event.method, back)
            together[line.key.case, ends].append(stop)
    found = []
    for stops in together.values():
        first = min(stops, key=lambda stop: stop.event.series or 0)
        event = msgspec.structs.replace(first.event, count=len(stops))
        found.append(first._replace(event=event))
    return found


class _Asked(enum.Enum):
    """The words that a run without a series was asked with."""

    SAME = enum.auto()
    """As the run before that has it: it has most of the others, or its command is the same."""
    OTHERS = enum.auto()
    """Its command is another one, as that of a few chosen operators."""
    UNSAID = enum.auto()
    """It has few of the others, and no command says why."""


class _Bad(NamedTuple):
    """A commit at which a series has no figure that can be."""

    stop: Stop
    reason: str
    environment: str
    value: float = np.nan


MISSING = _Bad(Stop.MISSING, "runs since then have the others, and lack it", "")


def _identity(facts: SeriesFacts, environment: str) -> tuple[str, ...]:
    """Returns what people know a case by: another version of a benchmark goes on with it."""
    return (facts.name, facts.inputs, facts.settings, facts.framework, environment)


OUTPUT = re.compile(r"\s(?:-o|--output-file)[ =](?:'[^']*'|\S+)")
"""The file of a command, which differs from run to run."""


def _asked_for(command: str) -> str:
    return OUTPUT.sub("", command).strip()


class _Search:
    """Figures, failures and impossible values by series and commit."""

    def __init__(self, history: History, outcomes: Iterable[Outcome], branch: str) -> None:
        self.branch = branch
        self.lines = history.timelines
        self.runs = history.runs
        ranks: dict[str, int] = {}
        self.rank = np.array(
            [ranks.setdefault(run.commit.sha, len(ranks)) for run in history.runs], np.int64
        )
        self.shas = list(ranks)
        shape = (len(self.lines), len(self.runs))
        self.present = np.zeros(shape, bool)
        """Runs in which a series was measured, with whatever outcome."""
        self.good: list[Array] = []
        """Ranks of the commits at which each series has a figure, in order."""
        self.bad: list[dict[int, _Bad]] = [{} for _ in self.lines]
        for index, line in enumerate(self.lines):
            self._add_figures(index, line)
        self._by_case = _grouped(line.key.case for line in self.lines)
        self._by_identity = _grouped(_identity(line.facts, "") for line in self.lines)
        self._elsewhere: dict[tuple[int, str], dict[int, _Bad]] = defaultdict(dict)
        for outcome in outcomes:
            self._add_outcome(outcome)
        for (index, _), found in self._elsewhere.items():
            # What failed there before is nothing new.
            if min(found) > self.good[index].max(initial=-1):
                self.bad[index].update(found)
        self.alike = self._alike()
        self._groups = _grouped((line.key.environment, line.key.metric) for line in self.lines)
        self._machines = _grouped(line.key.environment for line in self.lines)
        self._sizes = {key: self.present[rows].sum(axis=0) for key, rows in self._groups.items()}
        self._stops: dict[Hashable, list[tuple[int, int, int]]] = {}
        self._measured = {
            machine: self.present[rows].any(axis=0) for machine, rows in self._machines.items()
        }
        measured = self.present.any(axis=0)
        for outcome in outcomes:
            measured[outcome.run] = True
        self._empty = ~measured
        self._asked: dict[Hashable, _Asked] = {}
        numbers = {"": 0}
        self._words = np.array(
            [numbers.setdefault(_asked_for(run.command), len(numbers)) for run in self.runs], int
        )
        """Number of the command of each run; 0 where it is not said."""

    def _add_figures(self, index: int, line: Timeline) -> None:
        self.present[index, line.run] = True
        usable = possible(line.facts, line.median)
        ranks = self.rank[line.run]
        self.good.append(np.unique(ranks[usable]))
        for rank, value in zip(ranks[~usable].tolist(), line.median[~usable].tolist(), strict=True):
            reason = f"{value:g} {line.facts.unit}".strip() + f" is no value of {line.key.metric}"
            self.bad[index][rank] = _Bad(Stop.IMPOSSIBLE, reason, line.key.environment, value)

    def _add_outcome(self, outcome: Outcome) -> None:
        key, rank = outcome.key, int(self.rank[outcome.run])
        reason = ": ".join(filter(None, (outcome.status, outcome.reason)))
        bad = _Bad(Stop.FAILS, reason, key.environment)
        for index in self._lines_of(key, outcome.facts):
            line = self.lines[index]
            if key.metric not in (WHOLE, line.key.metric):
                continue
            if line.key.environment == key.environment:
                self.present[index, outcome.run] = True
                self.bad[index][rank] = bad
            else:
                self._elsewhere[index, key.environment][rank] = bad

    def _lines_of(self, key: SeriesKey, facts: SeriesFacts) -> list[int]:
        """Returns the series that an outcome is of: those of its case, or of what people know it
        by, in its environment; where it never had a figure there, those of the latest figure."""
        candidates = (
            self._by_case.get(key.case, []),
            self._by_identity.get(_identity(facts, ""), []),
        )
        for found in candidates:
            here = [i for i in found if self.lines[i].key.environment == key.environment]
            if here:
                return here
        found = next(filter(None, candidates), [])
        latest = max(found, key=lambda index: int(self.lines[index].run[-1]), default=None)
        machine = None if latest is None else self.lines[latest].key.environment
        return [i for i in found if self.lines[i].key.environment == machine]

    def _alike(self) -> Array:
        """Returns the runs that have a series, or another version of it."""
        alike = self.present.copy()
        groups = _grouped(
            (*_identity(line.facts, line.key.environment), line.key.metric) for line in self.lines
        )
        for rows in groups.values():
            if len(rows) > 1:
                alike[rows] = self.present[rows].any(axis=0)
        return alike

    def stops(self, index: int) -> Iterator[Update]:
        """Yields the stops of a series."""
        good, line = self.good[index], self.lines[index]
        bad = tuple(sorted(set(self.bad[index]).difference(good.tolist())))
        # Most series are of the same runs.
        rows = (self.present[index].tobytes(), self.alike[index].tobytes(), good.tobytes())
        pattern = (line.key.environment, line.key.metric, *rows, bad)
        if pattern not in self._stops:
            self._stops[pattern] = list(self._stops_of(index, bad))
        for last, since, end in self._stops[pattern]:
            found = self.bad[index][since] if since in bad else MISSING
            before = line.median[self.rank[line.run] == last]
            is_back = end < len(self.shas)
            event = Event(
                Kind.STOPPED,
                self.branch,
                found.environment or line.key.environment,
                self.shas[last],
                self.shas[since],
                line.id,
                before=float(before[possible(line.facts, before)][-1]),
                after=found.value,
                method=found.stop.value,
                state=State.FIXED if is_back else State.NEW,
                # Found whatever the settings of a check are.
                settings=EXACT,
            )
            yield Update(
                event,
                f"figures again since {sha_text(self.shas[end])}" if is_back else found.reason,
            )

    def _stops_of(self, index: int, bad: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Yields the commits of the last figure before each stop, of its beginning, and of the next
        figure, or the number of commits without one."""
        good = self.good[index]
        if not good.size:
            return
        references, lacking = self._references(index), self._lacking(index)
        unsaid_after = UNSAID_AFTER
        ends = np.append(good[1:], len(self.shas))
        for place in self._doubtful(index, references, lacking, bad):
            last, end = int(good[place]), int(ends[place])
            failed = next((rank for rank in bad if last < rank < end), None)
            until = end if failed is None else failed
            kinds = self._kinds(index, int(references[place]), lacking, last, until)
            missing = _missing_since(kinds, unsaid_after)
            # What came back after so many commits is not missing after as many.
            unsaid_after = max(unsaid_after, len(kinds) + 1)
            since = failed if missing is None else missing
            if since is not None:
                yield last, since, end

    def _doubtful(
        self, index: int, references: Array, lacking: Array, bad: Sequence[int]
    ) -> list[int]:
        """Returns the figures after which there may be a stop: an outcome that is none, or runs
        that are large enough, or may be of what was asked for before. Most runs of a few chosen
        operators are neither, and not looked at."""
        good, key = self.good[index], self.lines[index].key
        sizes = self._sizes[key.environment, key.metric]
        before = np.searchsorted(good, self.rank[lacking]) - 1
        reference = references[before]
        words = self._words
        is_other = (words[lacking] != words[reference]) & (words[lacking] * words[reference] > 0)
        is_large = sizes[lacking] >= MOST * (sizes[reference] - 1)
        counted = lacking[is_large | ~is_other | self._empty[lacking]]
        ranks = np.unique(self.rank[counted])
        places = np.searchsorted(good, ranks) - 1
        is_between = (places >= 0) & ~np.isin(ranks, good)
        found = np.bincount(places[is_between], minlength=good.size) >= MISSING_AFTER
        of_bad = np.searchsorted(good, np.array(bad, np.int64)) - 1
        found[of_bad[of_bad >= 0]] = True
        return [int(place) for place in np.flatnonzero(found)]

    def _lacking(self, index: int) -> Array:
        """Returns the runs of a machine after a series' first figure that lack it."""
        line = self.lines[index]
        measured = self._measured[line.key.environment] | self._empty
        lacking = np.flatnonzero(measured & ~self.alike[index])
        return np.asarray(lacking[self.rank[lacking] > self.good[index][0]])

    def _kinds(
        self, index: int, reference: int, lacking: Array, last: int, end: int
    ) -> dict[int, bool]:
        """Returns the commits between two whose runs should have a series, and whether one of them
        surely should."""
        between = np.searchsorted(self.rank, (last + 1, end))
        kinds: dict[int, bool] = {}
        for run in lacking[slice(*np.searchsorted(lacking, between))].tolist():
            kind, rank = self._kind_of(index, reference, run), int(self.rank[run])
            if kind is not _Asked.OTHERS:
                kinds[rank] = kinds.get(rank, False) or kind is _Asked.SAME
        return kinds

    def _references(self, index: int) -> Array:
        """Returns, by the figures of a series, the run that says what is measured together with
        it."""
        key = self.lines[index].key
        having = np.flatnonzero(self.present[index])
        sizes = self._sizes[key.environment, key.metric][having]
        largest = latest = np.arange(having.size)
        for back in range(1, LATEST):
            earlier = np.maximum(latest - back, 0)
            largest = np.where(sizes[earlier] > sizes[largest], earlier, largest)
        at = np.searchsorted(self.rank[having], self.good[index], side="right") - 1
        return np.asarray(having[largest[at]])

    def _kind_of(self, index: int, reference: int, run: int) -> _Asked:
        """Returns what a run without a series was asked for, beside the run before that has it."""
        key = self.lines[index].key
        cached = (key.environment, key.metric, reference, run)
        if cached not in self._asked:
            words = self._words[[reference, run]]
            if self._has_most(key, reference, run) or (words[0] == words[1] > 0):
                self._asked[cached] = _Asked.SAME
            else:
                # A run without its metric measured something else.
                has_metric = self._sizes[key.environment, key.metric][run] > 0
                is_said = words.all() or not has_metric
                self._asked[cached] = _Asked.OTHERS if is_said else _Asked.UNSAID
        return self._asked[cached]

    def _has_most(self, key: SeriesKey, reference: int, run: int) -> bool:
        """Whether a run has most of what the other one has beside a series: of its metric, or of
        any if there is no other of it."""
        if self._empty[run]:
            return self.runs[run].source == self.runs[reference].source
        for group in (self._groups[key.environment, key.metric], self._machines[key.environment]):
            before, now = (self.present[group, at] for at in (reference, run))
            others = int(before.sum()) - 1
            if others:
                return int((before & now).sum()) >= MOST * others
        return False


def _missing_since(kinds: Mapping[int, bool], unsaid_after: int) -> int | None:
    """Returns the commit from which on a series is missing; None if it is not."""
    sure = [rank for rank, is_sure in kinds.items() if is_sure]
    enough = ((sure, MISSING_AFTER), (list(kinds), unsaid_after))
    return next((ranks[0] for ranks, least in enough if len(ranks) >= least), None)


def _grouped(keys: Iterable[Hashable]) -> Mapping[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        found[key].append(index)
    return found
