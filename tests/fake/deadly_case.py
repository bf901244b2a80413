"""What a worker of the conformance suite does whose second case of three ends its process."""

import os
import signal

from opperf.model import Case, OperatorTarget
from tests.conformance.workers import Begun, Judgement

DEADLY = 1
"""Place of the case that ends its process."""


def begun(place):
    """The case of a place, as it begins."""
    return Begun(place, 3, Case(OperatorTarget("toy", f"operator{place}"), {}))


def work(wanted, first, to):
    """Sends three cases, of which one ends the process."""
    for place in range(first, 3):
        to.send(begun(place))
        if place == DEADLY:
            os.kill(os.getpid(), signal.SIGFPE)
        to.send(Judgement(begun(place), ()))
