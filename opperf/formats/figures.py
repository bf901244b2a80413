"""Figures of other tools as a history takes them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import msgspec

from opperf.errors import RunFileError
from opperf.formats.documents import Known, kind_of, known_unit, label, wrong
from opperf.formats.model import WHOLE, Entry, Point, SeriesFacts, SeriesKey, Submission
from opperf.instruments.profilers.summary import median_interval
from opperf.model import MetricKind, Struct
from opperf.model.declaring import ID_LENGTH, digest
from opperf.plurals import pluralize
from opperf.repository import Commit
from opperf.results.possible import refused_order

KEYED = (
    *("machine", "cpu", "cores", "architecture", "gpus", "framework", "versions", "python"),
    *("requirements", "variables"),
)
"""Facts of an environment whose figures may be joined only if they are equal. As with opperf's own
runs, another kernel of the system or another name of the host is no other environment, unless a
tool takes the name for the machine."""


MOST = 2**31 - 1
"""Largest number of samples that a database's column has room for."""


class Given(Struct, frozen=True):
    """Facts that the user states, for files that lack them."""

    commit: Commit | None = None
    branch: str = ""
    machine: str = ""


class Intake(Struct, frozen=True):
    """The runs of a file or a folder."""

    submissions: tuple[Submission, ...]
    warnings: tuple[str, ...] = ()


class Machine(Struct, frozen=True):
    """The environment of figures."""

    key: str
    facts: Mapping[str, Any]


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {label(str(name)): _printable(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printable(inner) for inner in value]
    return label(value) if isinstance(value, str) else value


class Benchmark(Struct, frozen=True):
    """The subject of figures."""

    name: str
    parameters: Mapping[str, Any] = {}
    version: str = ""
    """Figures of another version are not comparable: they are another series."""
    shown: str = ""
    """The parameters in tables; empty for those above as they are."""
    category: str = ""
    framework: str = ""

    @property
    def case(self) -> str:
        identity = {"name": self.name, "parameters": self.parameters, "version": self.version}
        return digest(identity)[:ID_LENGTH]

    def facts(self, unit: str, kind: MetricKind, lower_is_better: bool = True) -> SeriesFacts:
        listed = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return SeriesFacts(
            name=label(self.name),
            unit=label(unit),
            kind=kind,
            lower_is_better=lower_is_better,
            inputs=label(self.shown or listed),
            category=label(self.category),
            framework=label(self.framework),
        )


def figure(
    benchmark: Benchmark,
    metric: str,
    unit: str | Known,
    machine: Machine,
    point: Point,
    lower_is_better: bool = True,
) -> Entry:
    """Returns a figure, whose point is in the file's unit; of one that is no number, a failure."""
    known = known_unit(unit) if isinstance(unit, str) else unit
    return Entry(
        SeriesKey(benchmark.case, label(metric), machine.key),
        benchmark.facts(known.unit, kind_of(known.unit), lower_is_better),
        scaled(point, known.size) if math.isfinite(point.median) else no_figure(point.median),
    )


def no_figure(value: float) -> Point:
    """Returns the point of a value that is NaN, as null becomes, or infinite."""
    what = "no number" if math.isnan(value) else "infinite"
    return Point(status="failed", reason=f"its value is {what}")


def number_of(value: float | None) -> float:
    """Returns a number of a file; NaN for null."""
    return math.nan if value is None else value


def number_or_null(value: float) -> float | None:
    """Returns a number; None of NaN and infinity, which JSON and databases do not have."""
    return value if math.isfinite(value) else None


def outcome(benchmark: Benchmark, machine: Machine, status: str, reason: str) -> Entry:
    """Returns the outcome of a benchmark that has no figure."""
    return Entry(
        SeriesKey(benchmark.case, WHOLE, machine.key),
        benchmark.facts("", MetricKind.COUNT),
        Point(status=status, reason=label(reason)),
    )


def scaled(point: Point, size: float) -> Point:
    """Returns a point in another unit; bounds that are not finite are unknown."""
    values = {
        name: value * size if math.isfinite(value) else math.nan
        for name in ("median", "low", "high", "q25", "q75")
        for value in (getattr(point, name),)
    }
    samples = tuple(sample * size for sample in point.samples)
    if not all(map(math.isfinite, samples)):
        samples = ()
    count = max(0, min(point.n, MOST))
    return msgspec.structs.replace(point, **values, n=count, samples=samples)


quartiles = partial(quantiles, n=4, method="inclusive")
"""Returns the quartiles of samples, two at least, as NumPy has them, which takes longer for few."""


def point_of_samples(samples: Sequence[float | None]) -> Point:
    """Returns the point of some samples: median, its interval, and quartiles; NaN if one is null or
    not finite."""
    kept = tuple(map(number_of, samples))
    if not all(map(math.isfinite, kept)):
        return Point()
    if len(kept) < 2:
        return Point(n=len(kept), median=kept[0] if kept else math.nan)
    q25, median, q75 = quartiles(kept)
    low, high = median_interval(sorted(kept))
    return Point(n=len(kept), median=median, low=low, high=high, q25=q25, q75=q75, samples=kept)


def check_bounds(entries: Iterable[Entry], path: Path) -> None:
    """Raises `RunFileError` for the first figure outside of its bounds, which cannot be."""
    for entry in entries:
        point = entry.point
        why = refused_order("the lower bound", point.low, "the figure", point.median)
        why = why or refused_order("the figure", point.median, "the upper bound", point.high)
        if why:
            raise wrong(path, f"{entry.facts.name}.{entry.key.metric}", why)


def check_times(entries: Iterable[Entry], path: Path) -> None:
    """Raises `RunFileError` for the first time of a single run that is not above zero. In a file of
    many commits it is an outcome of one of them, which `history check` reports."""
    for entry in entries:
        if entry.facts.kind is MetricKind.WALL and entry.point.median <= 0:
            figure = f"{entry.point.median:g} {entry.facts.unit}"
            at = f"{entry.facts.name}.{entry.key.metric}"
            raise wrong(path, at, f"{figure} is no time, which is above zero")


class ForeignFile(NamedTuple):
    """A file or folder of another tool, and what is said of it."""

    tool: str
    path: Path
    given: Given
    warnings: list[str]

    def commit(self) -> Commit:
        """Returns the commit that the user states. Raises `RunFileError` without one."""
        if self.given.commit is None:
            raise RunFileError(
                f"{self.path} does not say which commit it is of; name it with --commit"
            )
        return self.given.commit

    def machine(self, facts: Mapping[str, Any]) -> Machine:
        """Returns an environment by what the file says of it, under opperf's names, and the user's
        name for the machine if the file has no processor and no name."""
        said = {name: value for name, value in facts.items() if value not in (None, "", [], {}, ())}
        known = {name: _printable(value) for name, value in said.items()}
        if not {"machine", "cpu"} & set(known):
            name = self.given.machine or known.get("hostname")
            known |= {"machine": name} if name else {}
        if "machine" in known:
            known.setdefault("hostname", known["machine"])
        keyed = {name: known[name] for name in KEYED if name in known}
        return Machine(digest(keyed)[:ID_LENGTH], known)

    def run(
        self,
        identity: Any,
        commit: Commit,
        started: float,
        entries: Iterable[Entry],
        machines: Iterable[Machine],
        branch: str | None = "",
        is_dirty: bool = False,
        command: str = "",
    ) -> Submission:
        """Returns a run, whose copies have the same identity. Of several figures of one series the
        last counts, which is added to the warnings."""
        listed, environments = list(entries), {machine.key: machine.facts for machine in machines}
        check_bounds(listed, self.path)
        kept = {entry.key: entry for entry in listed}
        if len(kept) < len(listed):
            counts = Counter(entry.key for entry in listed)
            name = next(kept[key].facts.name for key, count in counts.items() if count > 1)
            self.warnings.append(
                f"{self.path}: {pluralize(len(listed) - len(kept), 'figure')} of a benchmark that "
                f"has a later one, as {name}: only the last counts"
            )
        if not all({"machine", "cpu", "gpus"} & set(known) for known in environments.values()):
            self.warnings.append(
                f"{self.path}: it does not say on which machine it was measured, and figures of "
                "several would be joined; name the machine with --machine"
            )
        return Submission(
            id=digest({"source": self.tool, "identity": identity})[:ID_LENGTH],
            commit=commit,
            branch=label(branch or self.given.branch),
            started=self.path.stat().st_mtime if math.isnan(started) else started,
            entries=tuple(kept.values()),
            is_dirty=is_dirty,
            source=self.tool,
            command=command,
            environments=environments,
        )

    def single_run(self, value: Any, entries_of: Callable[[Machine], Iterable[Entry]]) -> Intake:
        """Returns the run of a file that says neither its commit, nor its time, nor its machine:
        the user states the first and the last. Raises `RunFileError` without a commit."""
        commit, machine = self.commit(), self.machine({})
        self.warnings.append(f"{self.path}: it has no time; that of the file is taken")
        entries = list(entries_of(machine))
        check_times(entries, self.path)
        return self.intake(
            [self.run([commit.sha, digest(value)], commit, math.nan, entries, [machine])]
        )

    def intake(self, runs: Iterable[Submission]) -> Intake:
        """Returns runs with what was said."""
        found = tuple(runs)
        return Intake(found, tuple(dict.fromkeys(self.warnings)))
