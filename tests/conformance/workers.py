"""Judges cases in a process of their own, which another replaces where a case ends it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple

from opperf.errors import OpperfError
from opperf.frameworks import load
from opperf.model import Case
from tests.conformance.driver import cheaply, found_in, judge, planned
from tests.conformance.exceptions import Found
from tests.conformance.judging import DOES_NOT_RUN, Finding


class Wanted(NamedTuple):
    """Which cases to judge: arguments of `planned`."""

    framework: str
    size: str
    operators: tuple[str, ...] = ()
    dtype: str = "float32"


class Begun(NamedTuple):
    """A case that is about to run."""

    place: int
    """Among the planned cases, from 0."""
    count: int
    """Of the planned cases."""
    case: Case


class Judgement(NamedTuple):
    """What was found of a case."""

    begun: Begun
    found: tuple[Found, ...]


Work = Callable[[Wanted, int, Connection], None]
"""What a worker does: from a case on, by its place, it sends each as it begins and as it ends."""


def judgements(wanted: Wanted, work: Work | None = None) -> Iterator[Begun | Judgement]:
    """Yields each case as it begins and what was found of it; of a case that ends the process, that
    it does not run. Raises what planning raises."""
    context = get_context("spawn")
    first, count = 0, None
    while count is None or first < count:
        receiving, sending = context.Pipe(duplex=False)
        worker = context.Process(target=work or judge_from, args=(wanted, first, sending))
        worker.start()
        sending.close()
        running = None
        try:
            while True:
                said: Begun | Judgement | OpperfError = receiving.recv()
                if isinstance(said, OpperfError):
                    worker.join()
                    raise said
                yield said
                running = said if isinstance(said, Begun) else None
        except EOFError:
            worker.join()
        if running is None:
            if worker.exitcode:
                raise RuntimeError(f"the worker ended with {worker.exitcode} between cases")
            return
        finding = Finding(DOES_NOT_RUN, "", f"the process ended: {ending(worker.exitcode)}")
        yield Judgement(running, (Found(running.case, finding),))
        first, count = running.place + 1, running.count


def judge_from(wanted: Wanted, first: int, to: Connection) -> None:
    """Judges the cases from a place on, and sends each before and after; or why there are none."""
    try:
        framework = load(wanted.framework)
        cases = planned(*wanted)
    except OpperfError as error:
        to.send(error)
        return
    with cheaply(framework):
        for place, case in enumerate(cases[first:], first):
            begun = Begun(place, len(cases), case)
            to.send(begun)
            to.send(Judgement(begun, tuple(found_in([judge(case, framework)]))))


def ending(exitcode: int | None) -> str:
    """Returns how a process ended: the name of the signal, or its status."""
    if exitcode is not None and exitcode < 0:
        return signal.Signals(-exitcode).name
    return f"status {exitcode}"
