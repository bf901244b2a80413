"""Writes observations to whoever runs a bench, by the descriptor of `$DATA_FD`, or prints them.

It imports nothing of opperf: benches run in any environment."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

LEAST_S = 0.2
"""Length of an observation, long beside the clock's resolution and a line's cost."""

DESCRIPTOR = "DATA_FD"

SECONDS, LONGEST_S = 10.0, 120.0
"""Length of a bench that nobody observes, and the longest of one that is stopped once it was
observed for long enough."""


def observe(step: Callable[[], object], items: float, units: str) -> None:
    """Calls a step, which does so many items, again and again, and writes a rate for each 0.2 s or
    so, until it is stopped, or has run for 10 s where nobody observes it."""
    descriptor = os.environ.get(DESCRIPTOR)
    stream: TextIO = sys.stdout if descriptor is None else os.fdopen(int(descriptor), "w")
    for loops, seconds in _spans(step, SECONDS if descriptor is None else LONGEST_S):
        line = {"task": "train", "rate": items * loops / seconds, "units": units}
        print(json.dumps({**line, "time": time.time()}), file=stream, flush=True)


def _spans(step: Callable[[], object], length_s: float) -> Iterator[tuple[int, float]]:
    end = time.perf_counter() + length_s
    loops = 1
    while True:
        begun = time.perf_counter()
        for _ in range(loops):
            step()
        now = time.perf_counter()
        yield loops, now - begun
        if now > end:
            return
        loops = max(1, round(loops * LEAST_S / max(now - begun, LEAST_S / 100)))
