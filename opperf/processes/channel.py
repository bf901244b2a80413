"""The channel between a process and its child: messages in both directions, one JSON document a
line. Each request is answered, and knows the type of its answer."""

from __future__ import annotations

import functools
import os
import select
import time
import traceback
from collections.abc import Iterator
from typing import IO, Any, Generic, TypeVar, get_args

import msgspec

from opperf import errors
from opperf.model.declaring import Struct

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")

READ_BYTES = 1 << 16


class Request(Struct, Generic[R_co], frozen=True):
    """A request, whose answer is of the type in its class's brackets."""

    @classmethod
    def answer_type(cls) -> Any:
        (base,) = cls.__orig_bases__  # type: ignore[attr-defined]
        return get_args(base)[0]


class Answer(Struct, frozen=True, tag="answer"):
    """The answer to a request."""

    result: msgspec.Raw
    last: bool = False
    """Whether the process is to be replaced: it is not as it was, and cannot be restored."""

    @classmethod
    def of(cls, result: object, last: bool = False) -> Answer:
        return cls(msgspec.Raw(msgspec.json.encode(result)), last)


class Refusal(Struct, frozen=True, tag="refusal"):
    """Answers a request that raised an exception."""

    error: str
    message: str
    trace: str = ""

    @classmethod
    def of(cls, error: Exception) -> Refusal:
        """Returns the refusal by an exception that is being handled."""
        known = isinstance(error, errors.OpperfError)
        return cls(
            type(error).__name__ if known else "WorkerError",
            str(error) if known else errors.one_line(f"{type(error).__name__}: {error}"),
            traceback.format_exc(),
        )

    def exception(self) -> errors.OpperfError:
        """Returns the exception, to be raised here."""
        made: errors.OpperfError = getattr(errors, self.error, errors.OpperfError)(self.message)
        made.add_note(self.trace) if hasattr(made, "add_note") else None
        return made


class ChannelClosed(Exception):
    """The other process has ended, or closed its end."""


class ChannelTimeout(Exception):
    """The other process has sent nothing in time."""


@functools.cache
def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    """Returns the decoder of messages of a type. One that is made before a fork is the fork's too,
    which it would take milliseconds."""
    return msgspec.json.Decoder(kind)


class Channel:
    """This process's end of the channel, of unbuffered files."""

    def __init__(
        self, reading: IO[bytes], writing: IO[bytes], most_bytes: int | None = None
    ) -> None:
        """`most_bytes` limits a line of the other process, if that is not trusted: a longer one
        closes the channel."""
        self._reading, self._writing, self._most = reading, writing, most_bytes
        self._buffer = b""

    def send(self, message: object) -> None:
        """Sends a message. Raises `ChannelClosed`."""
        line = memoryview(msgspec.json.encode(message) + b"\n")
        try:
            while line:
                line = line[self._writing.write(line) :]
        except BrokenPipeError:
            raise ChannelClosed from None

    def line(self, timeout_s: float | None = None) -> bytes:
        """Returns the next line. Raises `ChannelClosed` and `ChannelTimeout`."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            if until is not None and not self._has_more(until):
                raise ChannelTimeout
            if self._most is not None and len(self._buffer) > self._most:
                raise ChannelClosed
            data = os.read(self._reading.fileno(), READ_BYTES)
            if not data:
                raise ChannelClosed
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _has_more(self, until: float) -> bool:
        poll = select.poll()
        poll.register(self._reading.fileno(), select.POLLIN)
        left_s = until - time.monotonic()
        return left_s > 0 and bool(poll.poll(left_s * 1000))

    def lines(self) -> Iterator[bytes]:
        """Yields the lines of the other process, until there are no more."""
        while True:
            try:
                line = self.line()
            except ChannelClosed:
                return
            yield line

    def ask(self, request: Request[R], timeout_s: float | None = None) -> R:
        """Returns the answer. Raises that of a refusal, `ChannelClosed` and `ChannelTimeout`."""
        self.send(request)
        return self.answer(type(request), timeout_s)

    def answer(self, kind: type[Request[R]], timeout_s: float | None = None) -> R:
        """Returns the answer to a request of this kind that was sent. Raises as `ask`."""
        response: Answer | Refusal = decoder_of(Answer | Refusal).decode(self.line(timeout_s))
        if isinstance(response, Refusal):
            raise response.exception()
        answer: R = decoder_of(kind.answer_type()).decode(response.result)
        return answer

    def await_end(self, timeout_s: float) -> None:
        """Waits until no process has the other end open: a fork of one that was killed may be about
        to end, and its memory is free then."""
        until = time.monotonic() + timeout_s
        while self._has_more(until) and os.read(self._reading.fileno(), READ_BYTES):
            pass

    def say_end(self) -> None:
        """Lets the other process read that there are no more messages."""
        self._writing.close()

    def close(self) -> None:
        self._writing.close()
        self._reading.close()
