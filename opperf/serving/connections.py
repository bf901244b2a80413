"""Limits of connections: how many are open, and how long a request and its answer take. A client
that is slow, or sends nothing, loses its connection; it takes none from others."""

from __future__ import annotations

import asyncio
import resource
from typing import Any, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from opperf.errors import UsageError
from opperf.serving.application import HEADERS

MOST = 256
"""Most connections: a browser opens six, and a team has tens of them."""

LEAST = 4
"""Fewest connections that are of use: a browser's first requests."""

FILES = 28
"""Descriptors of all else: streams and the event loop take eight, the store three for each of
`THREADS`, and a library may open some."""

REQUEST_S = 10.0
"""Seconds within which a request is sent: a browser sends it at once."""

ANSWER_S = 60.0
"""Seconds within which an answer is made and received: the longest takes a few."""


class Limits(NamedTuple):
    """Limits that fit the descriptors of the process."""

    connections: int
    backlog: int
    """Connections that wait to be accepted; as many are accepted at once."""


def limits_of_process() -> Limits:
    """Returns the limits. Raises `UsageError` if there are too few descriptors to serve."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits_of(FILES + 2 * MOST)
    return limits_of(soft)


def limits_of(descriptors: int) -> Limits:
    """Returns the limits of a process with so many descriptors: half of those that are left are of
    connections, a quarter of those just accepted, and a quarter of those that are being closed.
    Raises `UsageError` if they are too few."""
    left = descriptors - FILES
    if left < 2 * LEAST:
        raise UsageError(
            f"the limit of open files is {descriptors}, and serving takes {FILES + 2 * LEAST}: "
            "raise it by ulimit -n"
        )
    return Limits(min(MOST, left // 2), min(MOST, left // 4))


class LimitedConnection(H11Protocol):
    """A connection that ends when a request or its answer takes too long. At the limit, a new one
    takes the place of that which has waited longest without a request."""

    most = MOST
    timer: asyncio.TimerHandle | None = None
    is_answering = False
    began = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.began = self.loop.time()
        self._end_within(REQUEST_S)
        if len(self.connections) > self.most:
            self._make_room()

    def _make_room(self) -> None:
        waiting = [
            other
            for other in self.connections
            if isinstance(other, LimitedConnection) and not other.is_answering
            if other is not self
        ]
        last = min(waiting, key=lambda other: other.began, default=self)
        # It is lost only in the loop's next turn, in which more may have come.
        self.connections.discard(last)
        last.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._await_answer()
        elif self.timer is None:
            # The next request of a connection that is kept open.
            self._end_within(REQUEST_S)

    def _await_answer(self) -> None:
        if not self.is_answering:
            self.is_answering = True
            self._end_within(ANSWER_S)

    def on_response_complete(self) -> None:
        self._stop_timer()
        self.is_answering = False
        self.began = self.loop.time()
        super().on_response_complete()
        # A request that was sent before the answer to the last one.
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _end_within(self, seconds: float) -> None:
        self._stop_timer()
        self.timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def send_400_response(self, msg: str) -> None:
        """Answers what is no request of HTTP, as the application answers: with its headers."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [
                ("content-type", "text/plain; charset=utf-8"),
                ("connection", "close"),
                *HEADERS.items(),
            ]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=msg.encode()),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def limited(connections: int) -> type[LimitedConnection]:
    """Returns the class of connections of a server that has at most so many."""
    return type("ServedConnection", (LimitedConnection,), {"most": connections})
