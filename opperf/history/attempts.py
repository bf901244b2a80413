"""Attempts to measure commits: which ones, in what order, and what a history keeps of each.

An attempt is a run of the history with labels: what was asked, which functions its commit lacks,
and why it failed. One that measured nothing is a run without points: of a commit that fails it says
nothing of any series, and of one that lacks all that the command asks for, that these are missing.
"""

from __future__ import annotations

import enum
import heapq
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from opperf.errors import UsageError
from opperf.formats.model import Submission
from opperf.history.model import StoredRun
from opperf.model.declaring import ID_LENGTH, digest
from opperf.repository import Commit

T = TypeVar("T")

SOURCE = "history run"
"""Source of an attempt that measured nothing: of no tool whose series might be missing."""

ASKED, BUILT, LACKS, FAILS = "history.run", "history.build", "history.lacks", "history.fails"
"""Labels of an attempt: the key of what was asked, or of how the commit was built where that failed
already; what the commit lacks; why it failed."""


class Keys(NamedTuple):
    """The keys by which the attempts of an earlier command are known."""

    built: str
    """Of how commits are built, and of the environment without them."""
    asked: str
    """Of that, and of what is measured."""


class Outcome(str, enum.Enum):
    """The state of a commit after the command, or before it for a plan."""

    MEASURED = "measured"
    THERE = "already there"
    LACKING = "lacks all"
    FAILED = "failed"
    FAILED_BEFORE = "failed before"
    CUT_SHORT = "interrupted"
    NOT_REACHED = "not reached"
    PLANNED = "to be measured"


class Attempt(NamedTuple):
    """The attempt to measure a commit."""

    outcome: Outcome
    cases: int = 0
    """Number of cases that were measured, whatever their status."""
    why: str = ""
    """Of a failure its reason; of what was measured, what is missing of it."""
    has_failures: bool = False
    """Whether a case failed, or a function could not be loaded."""


def thin_out(commits: Sequence[T], steps: int | None, every: int | None) -> list[T]:
    """Returns `steps` commits evenly spaced from the first to the last, or every so many-th,
    counted from the last; all without either. Raises `UsageError` for both."""
    if steps is not None and every is not None:
        raise UsageError("--steps and --every both say how many commits; give one of them")
    if every is not None:
        return list(commits[::-1][::every])[::-1]
    if steps is None or steps >= len(commits):
        return list(commits)
    last = len(commits) - 1
    # Of one alone the newest.
    places = {round(last * step / (steps - 1)) if steps > 1 else last for step in range(steps)}
    return [commits[place] for place in sorted(places)]


def ends_first(count: int) -> Iterator[int]:
    """Yields the places of commits in the order of measuring: the newest, the oldest, then the
    middle of the largest gap, again and again. Wherever that ends, the measured ones span the range
    evenly, and a change lies between two of them."""
    if count:
        yield count - 1
    if count > 1:
        yield 0
    # Of equal gaps the newer one.
    gaps = [(1 - count, 1 - count, 0)]
    while gaps:
        size, high, low = heapq.heappop(gaps)
        if -size < 2:
            continue
        middle = (low - high) // 2
        yield middle
        for first, last in ((low, middle), (middle, -high)):
            heapq.heappush(gaps, (first - last, -last, first))


def find_attempts(runs: Iterable[StoredRun], keys: Keys) -> dict[str, list[StoredRun]]:
    """Returns the runs of earlier attempts with these keys, by the commit's id, the latest last."""
    found: dict[str, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda run: (run.added, run.id)):
        if run.labels.get(ASKED) == keys.asked or run.labels.get(BUILT) == keys.built:
            found.setdefault(run.commit.sha, []).append(run)
    return found


def earlier_attempt(run: StoredRun, figures: int, has_failures: bool) -> Attempt:
    """Returns what a stored run with so many figures was; `has_failures` if a case failed in it."""
    lacks = run.labels.get(LACKS, "")
    why = run.labels.get(FAILS, "") or (f"lacks {lacks}" if lacks else "")
    if FAILS in run.labels and not figures:
        return Attempt(Outcome.FAILED_BEFORE, why=why, has_failures=True)
    outcome = Outcome.THERE if figures or not lacks else Outcome.LACKING
    return Attempt(outcome, why=why, has_failures=has_failures or FAILS in run.labels)


def without_points(
    commit: Commit, branch: str, labels: Mapping[str, str], command: str
) -> Submission:
    """Returns the run of an attempt that measured nothing: of the same commit and key always the
    same one. By its command, series would be missing: one that fails has none."""
    key = labels.get(ASKED) or labels[BUILT]
    return Submission(
        id=digest([key, commit.sha])[:ID_LENGTH],
        commit=commit,
        branch=branch,
        started=time.time(),
        entries=(),
        source=SOURCE,
        command="" if FAILS in labels else command,
        labels=labels,
    )
