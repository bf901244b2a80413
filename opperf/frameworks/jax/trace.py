"""Recordings of JAX's own profiler, and the events that count."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax

from opperf.errors import ProfilerError
from opperf.frameworks.jax import private
from opperf.frameworks.recording import Interval

MARKER = "opperf::call"

THUNK = "hlo_op"
"""The statistic of a profile that thunks alone have: the operation that one is of."""

WAIT = "ThunkExecutor::Execute (wait for completion)"

HOST_LEVEL = 3
"""Level of the host's tracer at which thunks are recorded."""

EMPTY = (
    "JAX's profiler did not record the calls; another profiler may be running in this process: use "
    "--profiler python"
)


class Trace(NamedTuple):
    """The events of a recording, each list sorted."""

    calls: list[Interval]
    """The markers."""
    thunks: list[Interval]
    events: int
    """All events."""


@contextmanager
def record() -> Iterator[list[Any]]:
    """Records the events inside the context. The list has the profile after its end. Raises
    `UnsupportedError` if this version of JAX shows no profiles."""
    private.PROFILE_DATA.get()
    options = private.PROFILE_OPTIONS.get()()
    options.host_tracer_level = HOST_LEVEL
    options.python_tracer_level = 0
    # No copies of the programs, which nothing here reads: after compilations, they took half of the
    # time of a sweep.
    options.enable_hlo_proto = False
    found: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="opperf-profile-") as folder:
        with _without_messages():
            jax.profiler.start_trace(folder, profiler_options=options)
        try:
            yield found
        finally:
            with _without_messages():
                found += _stop(Path(folder))
    if not found:
        raise ProfilerError(EMPTY)


STDERR = 2
"""The descriptor that XLA prints to."""

TENSORFLOW = b"Can't import tensorflow"
"""The message that XLA prints at the begin and the end of each recording where TensorFlow is not
installed, to which it would offer the profile."""


@contextmanager
def _without_messages() -> Iterator[None]:
    """Keeps these messages, and no others, from the terminal."""
    try:
        before = os.dup(STDERR)
    except OSError:
        # The process has closed it, as daemons do.
        yield
        return
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), STDERR)
        try:
            yield
        finally:
            os.dup2(before, STDERR)
            os.close(before)
            printed.seek(0)
            for line in printed:
                if TENSORFLOW not in line:
                    os.write(STDERR, line)


def _stop(folder: Path) -> list[Any]:
    """Ends the recording, and returns its profile."""
    data, state = private.PROFILE_DATA.get(), private.PROFILE_STATE.find()
    session = private.session_of(state)
    if session is None:
        # This version of JAX keeps it elsewhere.
        jax.profiler.stop_trace()
        return [data.from_file(str(path)) for path in folder.rglob("*.xplane.pb")]
    # Not `stop_trace`: to write all events as JSON too takes as long again.
    with state.lock:
        try:
            return [data.from_serialized_xspace(session.stop())]
        finally:
            state.reset()


def read_trace(profile: Any) -> Trace:
    """Sorts a profile's events by what they are."""
    trace = Trace([], [], 0)
    count = 0
    is_thunk: dict[str, bool] = {WAIT: True}
    for plane in profile.planes:
        for line in plane.lines:
            for event in line.events:
                count += 1
                name = event.name
                begin = event.start_ns
                if name == MARKER:
                    trace.calls.append((int(begin), int(begin + event.duration_ns)))
                    continue
                known = is_thunk.get(name)
                if known is None:
                    known = is_thunk[name] = any(key == THUNK for key, _ in event.stats)
                if known:
                    trace.thunks.append((int(begin), int(begin + event.duration_ns)))
    trace.calls.sort()
    trace.thunks.sort()
    return trace._replace(events=count)
