"""Processes of a session, the figures that they have, and cases that have none, as an arm, or all,
do not measure them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from opperf.model import WITHOUT_FIGURE, Pass, ProcessLine, Record, Status, Struct
from opperf.results.figures import CaseFigures
from opperf.results.text import add_distinct

FATAL = (Status.CRASHED, Status.TIMEOUT)
"""Statuses of a case that has ended its process."""


class Absence(Struct, frozen=True):
    """A case that an arm has not, or does not measure."""

    id: str
    """That of A's case in a run with the usual process; of B's where A has none."""
    operator: str
    inputs: str
    passes: tuple[Pass, ...]
    """Those of the arm that has it."""
    reasons: dict[str, str]
    """By arm that lacks it."""
    is_missing: bool = False
    """Whether the first arm can and another cannot, which is a finding. Where each arm
    names operators of its own, other inputs of its operator are none."""

    @property
    def case(self) -> str:
        """Its operator and inputs."""
        return f"{self.operator} ({self.inputs})"

    @property
    def reason(self) -> str:
        """Why arms lack it: once where that is the same of all."""
        if len(self.reasons) > 1 and len(set(self.reasons.values())) == 1:
            every = "both" if len(self.reasons) == 2 else "each"
            return f"{every}: {next(iter(self.reasons.values()))}"
        return "; ".join(f"{arm}: {why}" for arm, why in self.reasons.items())


def reasons_of(absences: Iterable[Absence]) -> Mapping[str, str]:
    """Returns the reasons by case, whose id is named where it is not the only one of its name."""
    found: dict[str, str] = {}
    for absence in absences:
        add_distinct(found, absence.case, absence.id, absence.reason)
    return found


class Lost(Struct, frozen=True):
    """Why a process has no figure of a pair."""

    reason: str
    ended: bool = False
    """Whether it ended the process, and so is not tried again in this session."""


@dataclass(frozen=True)
class Process:
    """A process that has measured its cases."""

    line: ProcessLine
    records: tuple[Record, ...]
    values: dict[str, float]
    """By figure, the natural logarithm of the median."""
    reference: dict[str, dict[str, float]]
    lost: dict[str, Lost]
    samples: dict[str, Sequence[float]] = field(default_factory=dict)
    """By figure."""

    @classmethod
    def of(
        cls, line: ProcessLine, records: Iterable[Record], group_of: Mapping[str, str]
    ) -> Process:
        """Returns the process of these records, of cases of these groups."""
        made = cls(line, tuple(records), {}, {}, {})
        for record in made.records:
            name = group_of[record.id]
            found, reason = _values(name, record)
            made.values.update(found)
            own = record.samples.items()
            made.samples.update({key(name, metric): taken for metric, taken in own})
            for metric in record.case.passes:
                if key(name, metric) in found and metric in record.reference:
                    works = record.reference[metric].items()
                    made.reference[key(name, metric)] = {work: math.log(ns) for work, ns in works}
            if reason:
                lost = Lost(f"{line.place.arm}: {reason}", record.status in FATAL)
                made.lost[name] = lost
        return made

    @property
    def block(self) -> tuple[str, int]:
        """Its phase, and the number of its block there."""
        return self.line.place.phase, self.line.place.block

    def with_ratios(self, base: Process) -> dict[str, float]:
        """Returns its values, each with samples of another process as that one's and the median of
        the ratios of both."""
        found = dict(self.values)
        for name in self.values.keys() & base.values.keys():
            ours, theirs = (own.samples.get(name, ()) for own in (self, base))
            if ours and len(ours) == len(theirs) and min(*ours, *theirs) > 0:
                logs = [math.log(new / old) for new, old in zip(ours, theirs, strict=True)]
                found[name] = base.values[name] + statistics.median(logs)
        return found


def _values(name: str, record: Record) -> tuple[dict[str, float], str]:
    """Returns the logarithms of a record's medians, by figure, and why others are missing."""
    failed = record.why_without_figures
    if failed:
        return {}, failed
    values: dict[str, float] = {}
    missing: list[str] = []
    # A record has the passes that its stage measured.
    for metric in record.case.passes:
        found = CaseFigures(record).of(metric)
        note = record.note(metric, *WITHOUT_FIGURE)
        if found is not None and found.median > 0:
            values[key(name, metric)] = math.log(found.median)
        elif found is not None or note is not None:
            missing.append(f"{metric}: {note.message if note else 'its median is zero'}")
    return values, "; ".join(missing)


def key(pair: str, metric: str) -> str:
    """Returns the name of a figure among a replicate's values."""
    return f"{pair} {metric}"


def pair_of(name: str) -> str:
    """Returns the pair of a figure."""
    return name.partition(" ")[0]


def metric_of(name: str) -> str:
    """Returns the metric of a figure."""
    return name.partition(" ")[2]
