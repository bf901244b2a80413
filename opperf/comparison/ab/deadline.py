"""The time that a session may take in all, which ends it: the session of a step of a bisection."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from opperf.errors import TimeLimitError
from opperf.execution.execute import Schedule
from opperf.model import Case, Record, Status
from opperf.results.text import duration
from opperf.sources.varying import with_settings


class Deadline:
    """The end of the time that a session has, counted from when it is made; by default, none."""

    def __init__(
        self, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._clock = seconds, clock
        self._end = clock() + seconds

    @property
    def left_s(self) -> float:
        return self._end - self._clock()

    def limit(self, case: Case, done: str) -> Case:
        """Returns the case with a time limit within what is left. Raises `TimeLimitError`, with
        what was done, if nothing is left."""
        left_s = self.left_s
        if left_s <= 0:
            raise self._error(done)
        if left_s >= case.settings.timeout_s:
            return case
        return with_settings(case, {"timeout_s": left_s})

    def check(self, record: Record, done: str) -> None:
        """Raises `TimeLimitError` if the end has stopped the case, which says nothing of it."""
        if record.status is Status.TIMEOUT and self.left_s <= 0:
            raise self._error(done)

    def _error(self, done: str) -> TimeLimitError:
        return TimeLimitError(
            f"not measured in the {duration(self._seconds)} of --timeout: {done}; raise it, or "
            "name fewer cases or --blocks"
        )


class WithDeadline:
    """A schedule whose visits end with the session's time. `done` says what was measured."""

    def __init__(self, schedule: Schedule, deadline: Deadline, done: Callable[[], str]) -> None:
        self._schedule, self._deadline, self._done = schedule, deadline, done

    def visits(self, extend: Callable[[int], None]) -> Iterator[Case]:
        """Yields the cases of the schedule. Raises `TimeLimitError` before one that is too late."""
        for case in self._schedule.visits(extend):
            yield self._deadline.limit(case, self._done())

    def has_record(self, case: Case) -> bool:
        return self._schedule.has_record(case)

    def keep(self, record: Record) -> list[Record]:
        """Returns the records to write. Raises `TimeLimitError` for one that was stopped."""
        self._deadline.check(record, self._done())
        return self._schedule.keep(record)
