"""The steps of a program: which of them are recorded, and what they take.

A step ends when the optimizer that made the first step has made another, or where the program calls
`opperf.step()`; once it does, only there.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.plurals import pluralize

MARKED = "opperf.step()"
"""The end of a step, in a program that says so itself."""


class StepRange(NamedTuple):
    """Steps from `first` up to and without `end`, which is None for all that follow."""

    first: int = 0
    end: int | None = None

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and number in range(
            self.first, sys.maxsize if self.end is None else self.end
        )

    def __str__(self) -> str:
        return f"{self.first}:{'' if self.end is None else self.end}"


STEPS = re.compile(r"(\d*):(\d*)")


def read_steps(text: str) -> StepRange:
    """Returns the range of `A:B`, of which each may be omitted. Raises `UsageError`."""
    match = STEPS.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is no range of steps; write A:B, as 10:20 for ten steps")
    first, end = int(match[1] or 0), int(match[2]) if match[2] else None
    if end is not None and end <= first:
        raise UsageError(f"{text!r} has no step in it; A:B are the steps from A up to B-1")
    return StepRange(first, end)


class Steps:
    """Counts the steps of a program, times them, and begins and ends recording."""

    def __init__(
        self,
        wanted: StepRange,
        switch: Callable[[bool], None],
        clock: Callable[[], int] = time.perf_counter_ns,
        wait: Callable[[], None] = lambda: None,
        forget: Callable[[], None] = lambda: None,
        ended: Callable[[bool], None] = lambda is_whole: None,
    ) -> None:
        """`switch` begins or ends recording; `clock` returns nanoseconds; `wait` waits for what the
        frameworks have begun, which is part of the step; `forget` drops what was recorded; `ended`
        is called after each recorded step, and with False once such steps were parts of one."""
        self.wanted = wanted
        self.number = 0
        """Steps that have ended; the number of the present one."""
        self.recorded = 0
        """Steps that were recorded."""
        self.times: dict[bool, list[int]] = {True: [], False: []}
        """Times of steps, in nanoseconds, by whether they were recorded."""
        self._switch, self._clock, self._wait, self._forget = switch, clock, wait, forget
        self._ended = ended
        self._owner: object = None
        self._begun: int | None = None
        """When the present step began; None of the first, which has the program's start in it."""
        self._recording = self._is_stopped = False

    def begin(self) -> None:
        """Begins with the first step."""
        self._set(self.number in self.wanted)

    def mark(self) -> None:
        """Begins timing here: what comes next is a step alone."""
        self._wait()
        self._begun = self._clock()

    def end(self, owner: object) -> None:
        """Ends a step, if what ended it is what ends the program's steps."""
        if owner == MARKED and self._owner not in (None, MARKED):
            # The program says where its steps end: here the first, in which optimizers made some.
            self._owner = MARKED
            self.number, self.recorded = 1, int(0 in self.wanted)
            self.times = {True: [], False: []}
            if self.recorded:
                self._ended(False)
            else:
                self._set(False)
                self._forget()
            self._set(1 in self.wanted)
            self.mark()
            return
        if self._owner is None:
            # An identity, as an optimizer is not to be kept.
            self._owner = owner if owner == MARKED else id(owner)
        if self._owner not in (owner, id(owner)):
            return
        self._wait()
        now = self._clock()
        if self._begun is not None:
            self.times[self._recording].append(now - self._begun)
        self.recorded += self._recording
        self.number += 1
        if self._recording:
            self._ended(True)
        self._set(self.number in self.wanted)
        self._begun = self._clock()

    def _set(self, recording: bool) -> None:
        if recording != self._recording and not self._is_stopped:
            self._recording = recording
            self._switch(recording)

    def stop(self) -> None:
        """Ends recording for good."""
        self._set(False)
        self._is_stopped = True

    def missed(self) -> str:
        """Returns which of the wanted steps the program did not make; empty if it made all."""
        wanted = self.wanted
        if self.number >= (wanted.first + 1 if wanted.end is None else wanted.end):
            return ""
        if wanted == StepRange():
            # The whole program, with or without steps.
            return ""
        how = (
            f"it made {pluralize(self.number, 'step')}"
            if self.number
            else f"it ended none, as no optimizer did; call {MARKED} at the end of each"
        )
        return f"the program did not reach the end of the steps {wanted}: {how}"
