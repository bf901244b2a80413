"""Anomalies of traces, and how each is read: one table, from which every report has its
sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import PurePath
from typing import NamedTuple

from opperf.plurals import counted


class Process(NamedTuple):
    """The process of a trace among those of a job."""

    name: str
    """Of the trace."""
    rank: int | None
    world_size: int | None


class Anomaly(Enum):
    """The anomalies: the noun that is counted, and the sentence on it with `{}` for the count. The
    code of programs is the name in lower case."""

    CUT_SHORT = ("file", "{} cut short; what precedes the end is used")
    NO_COMMA = ("missing comma", "{} added")
    UNREADABLE = ("object", "{} omitted, no JSON")

    NODE_UNNAMED = ("node", "{} without a name or a number omitted")
    NODE_REPEATED = ("node", "{} with the number of an earlier one omitted")
    NODE_PARENTLESS = ("node", "{} below one that the trace lacks, as one that had not ended")
    NODE_CIRCULAR = ("node", "{} above itself, so without a place in the program")
    NO_CALL = ("node", "{}, and none is a call of an operator")
    NO_SCHEMA = ("call", "{} without op_schema, which says what a call takes, omitted")

    NO_OPERATOR = ("event", "{}, and none is a call of an operator (`cat` cpu_op)")
    UNNAMED = ("event", "{} without a name omitted")
    PHASE = ("event", "{} of an unknown phase (`ph`) omitted")
    ASYNCHRONOUS = ("event", "{} of an asynchronous phase (`ph` b, n, e) omitted")
    NO_THREAD = ("event", "{} without a process or thread, taken as of one thread")
    NO_BEGIN = ("event", "{} without a time (`ts`) omitted")
    NO_DURATION = ("event", "{} without a duration (`dur`), so without time and what is in it")
    NEGATIVE = ("event", "{} of a negative duration, so without time and what is in it")
    HUGE = ("event", "{} longer than a day, so without time and what is in it")
    UNENDED = ("event", "{} begun (`ph` B) and not ended, so without time")
    UNBEGUN = ("event", "{} ended (`ph` E) and not begun, omitted")
    ASTRAY = ("event", "{} more than a day from the others, omitted from gaps and idle times")
    REPEATED = ("event", "{} there twice, read once")
    OVERLAPPING = (
        "event",
        "{} partly in the time of another one of its thread: times add up to more than has passed",
    )

    SAME_LAUNCH = ("kernel", "{} of one correlation id with others, joined by the order of times")
    UNCLEAR_LAUNCH = ("kernel", "{} of a correlation id of several launches, of no operator")
    NO_CORRELATION = ("kernel", "{} without a correlation id, of no operator")
    NO_LAUNCH = ("kernel", "{} whose launch the trace lacks, of no operator")
    OUTSIDE = ("kernel", "{} launched by no operator")
    EARLY = ("kernel", "{} begun before its launch: the clocks of host and device differ")
    KERNEL_TIME = ("kernel", "{} without time, added to no operator")
    NO_KERNEL = ("launch", "{} whose kernel the trace lacks: the call may have the host's time")

    SAME_NUMBER = ("event", "{} with the record function id of an earlier one, whose time is used")
    RANK_NAMED = ("file", "{} named after another rank than its content has, which is used")
    RANK_UNREADABLE = ("file", "{} whose rank or number of ranks is no such number")
    RANK_REPEATED = ("trace", "{} of a rank that another one here has: ranks are not compared")
    RANK_LACKING = ("trace", "{} without a rank beside others that have one")
    RANK_BEYOND = ("trace", "{} of a rank beyond its number of ranks")
    RANK_ABSENT = ("rank", "{} of the job not here: waits are those among the others")
    OTHER_JOB = ("trace", "{} of a job of another size than the first: ranks are not compared")

    @property
    def code(self) -> str:
        return self.name.lower()

    def sentence(self, count: int) -> str:
        """Returns the sentence on so many."""
        noun, text = self.value
        return text.format(counted(count, noun))


Anomalies = Counter[Anomaly]
"""Numbers of events by what is wrong with them."""

BETWEEN_JOBS = (Anomaly.RANK_REPEATED, Anomaly.OTHER_JOB)
"""Those by which traces are not of one job, so that their collective operations are not joined."""


def sentences(found: Anomalies, name: str = "") -> Iterator[str]:
    """Yields a line for each kind that was found, with the name of the trace if it is given."""
    for anomaly, count in _ordered(found):
        yield f"{name}: {anomaly.sentence(count)}" if name else anomaly.sentence(count)


def anomaly_values(found: Anomalies) -> list[dict[str, str | int]]:
    """Returns what was found as values of JSON."""
    return [
        {"code": anomaly.code, "count": count, "message": anomaly.sentence(count)}
        for anomaly, count in _ordered(found)
    ]


def _ordered(found: Anomalies) -> list[tuple[Anomaly, int]]:
    """Returns what was found in the order of the table: first what the others may follow from."""
    return [(anomaly, found[anomaly]) for anomaly in Anomaly if anomaly in found]


def of_processes(processes: Sequence[Process]) -> Anomalies:
    """Returns what is wrong with traces that are read as those of one job."""
    found = Anomalies()
    ranks = [process.rank for process in processes if process.rank is not None]
    sizes = [process.world_size for process in processes if process.world_size]
    found[Anomaly.RANK_REPEATED] = len(ranks) - len(set(ranks))
    found[Anomaly.RANK_LACKING] = len(processes) - len(ranks) if ranks else 0
    found[Anomaly.RANK_BEYOND] = sum(
        process.rank >= process.world_size
        for process in processes
        if process.rank is not None and process.world_size
    )
    found[Anomaly.OTHER_JOB] = sum(size != sizes[0] for size in sizes)
    if len(processes) > 1 and sizes:
        found[Anomaly.RANK_ABSENT] = sizes[0] - len(set(range(sizes[0])).intersection(ranks))
    return +found


def labels_of(processes: Sequence[Process]) -> list[str]:
    """Returns a name of each trace among several: its rank, with the file's name where another one
    has it too; the file's name without a rank."""
    plain = [_label(process) for process in processes]
    named = [
        label if plain.count(label) == 1 else f"{label} ({PurePath(process.name).name})"
        for label, process in zip(plain, processes, strict=True)
    ]
    return [
        label if named.count(label) == 1 else f"{shown} ({process.name})"
        for label, shown, process in zip(named, plain, processes, strict=True)
    ]


def _label(process: Process) -> str:
    return PurePath(process.name).name if process.rank is None else f"rank {process.rank}"
