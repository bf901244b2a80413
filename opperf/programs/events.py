"""Events of a program's stream: a JSON line each, `{"event": ..., "data": ..., "pipe": ...}`."""

from __future__ import annotations

from typing import Any, Literal

from opperf.model import Struct

Pipe = Literal["data", "stdout", "stderr"]

CONFIG, META, START, PHASE, DATA = "config", "meta", "start", "phase", "data"
LINE, MESSAGE, ERROR, STOP, END = "line", "message", "error", "stop", "end"
"""Names of events, in the order of a stream; a program may write others."""

PHASES = ("init", "parse_args", "load_script", "run_script", "finalize")


class Event(Struct, frozen=True):
    """A line of a stream."""

    event: str
    data: Any = None
    pipe: Pipe | None = None
    """Where the program wrote it: on the descriptor of `$DATA_FD`, or what it printed."""
