"""Streams of programs, a JSON line for each event, `{"event": ..., "data": ..., "pipe": ...}`, of
any version of voir and of opperf's own hooks: read and written, and what they say.

A process may be killed in the middle of a line, a disk may be full, and a program may print into
its stream: such a line costs itself alone, and is named. A value of another type than it should
have is ignored."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from opperf.decoding import JsonObject, read_json
from opperf.formats.documents import readable
from opperf.instruments.observations import TRAIN, Observation, Observations, read_number
from opperf.model import Struct
from opperf.plurals import pluralize
from opperf.reading import first_line, lines_of

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


def encode_event(event: Event) -> bytes:
    """Returns the line of an event. Not by msgspec, which knows no NaN: losses may be that."""
    content = {"event": event.event, "data": event.data, "pipe": event.pipe}
    return json.dumps(content, default=repr).encode() + b"\n"


def decode_event(line: bytes) -> Event | None:
    """Returns the event of a line; None for one that is none, such as the half of one."""
    try:
        found: Any = read_json(line)
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("event"), str):
        return None
    return Event(found["event"], found.get("data"), found.get("pipe"))


MOST_NAMED = 3
"""Lines of a file that are named; of a file that is none, each would be."""


class Stream(NamedTuple):
    """A file of events."""

    path: Path
    events: tuple[Event, ...]
    faults: tuple[str, ...] = ()
    """A sentence on each line that is no event, and on what is missing at the end."""

    @property
    def name(self) -> str:
        """Name of the process: the file's, without its extension."""
        return self.path.stem


def read_stream(path: Path) -> Stream:
    """Returns the events of a file, and the faults of its lines. Raises `RunFileError` for a file
    that cannot be read."""
    events, bad, torn = [], [], False
    with readable(path):
        for number, line in enumerate(lines_of(path), start=1):
            event = decode_event(line)
            if event is not None:
                events.append(event)
            elif not line.endswith(b"\n"):
                torn = bool(line.strip())
            elif line.strip():
                bad.append(number)
    faults = _named(path, bad)
    if torn:
        faults.append(f"{path}: the last line was cut short and is ignored")
    return Stream(path, tuple(events), tuple(faults))


def _named(path: Path, numbers: list[int]) -> list[str]:
    faults = [f"{path}:{number}: no event, and ignored" for number in numbers[:MOST_NAMED]]
    more = len(numbers) - MOST_NAMED
    if more > 0:
        faults.append(f"{path}: {pluralize(more, 'more line')} without an event ignored")
    return faults


def is_stream(path: Path) -> bool:
    """Returns whether the first line of a file is an event."""
    try:
        return decode_event(first_line(path)) is not None
    except OSError:
        return False


TIMED_OUT = re.compile(r"time[d ]*[ -]?out|max_?duration", re.IGNORECASE)
"""In a message of milabench, which has no event for a benchmark that took too long."""


STREAM_MB = 2**20
"""Bytes of the MB in streams: voir divides those of NVIDIA's library by 1024 twice."""


class GpuSample(NamedTuple):
    """The state of a GPU at a moment, as far as it is known."""

    device: str
    load: float | None
    """As a share."""
    used_mb: float | None
    total_mb: float | None
    power_w: float | None
    time: float | None
    """Seconds since 1970."""


class Observed(NamedTuple):
    """The content of a stream."""

    config: Mapping[str, Any]
    meta: Mapping[str, Any] | None
    """None if the program never said what it runs on."""
    started: float | None
    ended: float | None
    """Seconds since 1970; None if it never began, or never ended."""
    exit_code: int | None
    stopped: bool
    """Whether it made all observations that were wanted, and was stopped."""
    rates: tuple[float, ...]
    """Those that are finite and positive, in items per second."""
    all_rates: tuple[float, ...]
    unit: str
    losses: tuple[float, ...]
    progress: int
    """Observations by the program's own count, which streams that lost lines have too."""
    gpus: tuple[GpuSample, ...]
    errors: tuple[str, ...]
    """A line for each error: its type and message, or the last line of its traceback."""
    timeout: str
    """The message that it took too long; empty if it did not."""

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(map(str, _list(self.config.get("tag"))))

    @property
    def devices(self) -> tuple[str, ...]:
        """GPUs that the process was given."""
        return tuple(map(str, _list(self.config.get("devices"))))


def observe(stream: Iterable[Event]) -> Observed:
    """Returns the content of a stream."""
    by_event: dict[str, list[Any]] = {}
    pipes: dict[str, list[str]] = {}
    late = ""
    for event in stream:
        by_event.setdefault(event.event, []).append(event.data)
        if event.event == LINE and isinstance(event.data, str):
            pipes.setdefault(str(event.pipe), []).append(event.data)
        if event.event == ERROR and event.pipe is None and isinstance(event.data, dict):
            # Of whoever ran the program; its own errors have a pipe.
            is_late = event.data.get("type") == TimeoutError.__name__
            late = late or (str(event.data.get("message")) if is_late else "")
    data = [entry for entry in by_event.get(DATA, ()) if isinstance(entry, dict)]
    begin = _first(by_event, START)
    end = _first(by_event, END)
    code = end.get("return_code")
    trained = [entry for entry in data if entry.get("task") == TRAIN]
    rates = tuple(_numbers(trained, "rate"))
    return Observed(
        config=_first(by_event, CONFIG),
        meta=_first(by_event, META) if META in by_event else None,
        started=read_number(begin.get("time")),
        ended=read_number(end.get("time")),
        exit_code=code if isinstance(code, int) else None,
        stopped=STOP in by_event,
        rates=tuple(rate for rate in rates if 0 < rate < math.inf),
        all_rates=rates,
        unit=next((str(entry["units"]) for entry in trained if entry.get("units")), "items/s"),
        losses=tuple(_numbers(data, "loss")),
        progress=max((_progress(entry) for entry in data), default=0),
        gpus=tuple(sample for entry in data for sample in _gpus(entry)),
        errors=(*_errors(by_event.get(ERROR, ())), *_tracebacks(pipes)),
        timeout=late or _timeout(by_event.get(MESSAGE, ())),
    )


def _numbers(data: Iterable[JsonObject], key: str) -> Iterable[float]:
    return (value for entry in data if (value := read_number(entry.get(key))) is not None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """Returns an object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _first(by_event: Mapping[str, list[Any]], event: str) -> Mapping[str, Any]:
    return mapping(by_event.get(event, [{}])[0])


def _progress(entry: JsonObject) -> int:
    if entry.get("task") != "early_stop":
        return 0
    made = read_number(next(iter(_list(entry.get("progress"))), None))
    return int(made) if made is not None and math.isfinite(made) else 0


def _gpus(entry: JsonObject) -> Iterable[GpuSample]:
    for device, state in mapping(entry.get("gpudata")).items():
        if isinstance(state, dict):
            used, total, *_ = [*map(read_number, _list(state.get("memory"))), None, None]
            yield GpuSample(
                str(device),
                read_number(state.get("load")),
                used,
                total,
                read_number(state.get("power")),
                read_number(entry.get("time")),
            )


def _errors(found: Iterable[Any]) -> Iterable[str]:
    for error in found:
        if isinstance(error, dict):
            parts = (str(error.get("type") or ""), str(error.get("message") or ""))
            yield " ".join(": ".join(filter(None, parts)).split()) or "an error without a message"


TRACEBACK = "Traceback (most recent call last)"


def _tracebacks(pipes: Mapping[str, list[str]]) -> Iterable[str]:
    inside = False
    for line in "".join(pipes.get("stderr", ())).splitlines():
        if line.startswith(TRACEBACK):
            inside = True
        elif inside and line[:1].strip():
            inside = False
            yield " ".join(line.split())


def _timeout(messages: Iterable[Any]) -> str:
    texts = (
        str(message.get("message", "") if isinstance(message, dict) else message)
        for message in messages
    )
    return next((" ".join(text.split()) for text in texts if TIMED_OUT.search(text)), "")


PARTS = 2
"""Of a program that ended before it was warm, the first of so many equal parts is the warm-up."""


def warmup_of(rates: Sequence[float], skip: int = 0) -> int:
    """Returns how many of the first rates, all of them positive, are of the warm-up, which is
    looked for after `skip` of them."""
    observations = Observations(stop=len(rates), skip=skip)
    for rate in rates:
        observations.add(Observation(rate))
    found = observations.warmup
    # The last rate may be the one that ends it.
    return len(rates) // PARTS if found in (None, len(rates)) else found
