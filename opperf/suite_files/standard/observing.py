"""Writes observations to whoever runs a bench, by the descriptor of `$DATA_FD`, or prints them.

Copied into no other package: a bench's folder is imported by its script, in any environment."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

LEAST_S = 0.2
"""Length of an observation, long beside the clock's resolution and a line's cost."""

SECONDS = 10.0
"""Length of a bench that nobody stops."""


def _stream() -> TextIO:
    descriptor = os.environ.get("DATA_FD")
    return os.fdopen(int(descriptor), "w", buffering=1) if descriptor else sys.stdout


def observe(step: Callable[[], object], items: float, units: str) -> None:
    """Calls a step, which does so many items, again and again, and writes a rate for each 0.2 s or
    so, until it is stopped or has run for 10 s."""
    stream = _stream()
    for loops, seconds in _spans(step):
        line = {"task": "train", "rate": items * loops / seconds, "units": units}
        print(json.dumps({**line, "time": time.time()}), file=stream, flush=True)


def _spans(step: Callable[[], object]) -> Iterator[tuple[int, float]]:
    end = time.perf_counter() + SECONDS
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
