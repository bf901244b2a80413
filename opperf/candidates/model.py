"""The types of a judgement: the problem, the candidate that claims to solve it, and the verdict."""

from __future__ import annotations

import enum
from typing import Any, Literal

from opperf.model import Struct, Summary


class VerdictStatus(str, enum.Enum):
    """How a candidate was judged. The worst of its trials counts, the first of these as the
    worst."""

    CHEATED = "cheated"
    """It acted against the measurement, or its results hold only where it was looked at."""
    CRASHED = "crashed"
    """Its process ended: a signal, an exit of its own, or too little memory."""
    TIMEOUT = "timeout"
    """Its process was ended at a time limit."""
    FAILED = "failed"
    """It could not be called, or raised an error."""
    WRONG = "wrong"
    """Its results are not those of the reference."""
    UNDECIDABLE = "undecidable"
    """The problem cannot tell right from wrong, or its reference failed."""
    PASSED = "passed"


Differs = Literal["", "shape", "dtype"]


class Problem(Struct, frozen=True):
    """A computation that candidates claim to do."""

    name: str
    framework: str
    """The name of the framework whose arrays the functions take."""
    file: str
    """Absolute path of a Python file with `make_inputs(seed, **trial)`, which returns a list of
    arguments, and `reference(*arguments)`, which returns an output or a tuple of outputs."""
    trials: tuple[dict[str, Any], ...] = ({},)
    """Keywords of `make_inputs`, such as shapes: each is judged and timed."""
    rtol: float | None = None
    atol: float | None = None
    """Tolerances that the problem states; None for one that is found from the reference."""
    differentiated: bool = False
    """Whether the gradients with respect to the floating-point inputs are judged as well."""
    function: str = "reference"
    """The name of the function that is the reference."""
    inputs: str = "make_inputs"
    inputs_file: str = ""
    """The function that makes inputs, and its file if that is another one."""


class Candidate(Struct, frozen=True):
    """A kernel that claims to compute what a reference does. Its code is assumed hostile."""

    name: str
    file: str
    """Absolute path of a Python file with `candidate(*arguments)`. It reads its folder."""
    author: str = ""
    function: str = "candidate"


class TrialResult(Struct, frozen=True):
    """The judgement of one trial of a problem."""

    trial: dict[str, Any]
    status: VerdictStatus
    reason: str = ""
    """One line; empty of a trial that passed."""
    max_absolute_error: float | None = None
    max_relative_error: float | None = None
    """The error divided by the spread of the reference's output."""
    ns: Summary | None = None
    """Time per call; None of one that was not timed."""
    baselines: dict[str, Summary] = {}
    """Time per call of what it is compared with, by name: `reference` first."""
    floor_ns: float | None = None
    """The shortest time that the memory's bandwidth allows for one call; None if not known. No
    ratio counts the candidate as faster."""
    ratios: dict[str, Summary] = {}
    """Time of a baseline over the candidate's, by its name, over the rounds in which both ran:
    above 1 where the candidate is faster."""
    differs: Differs = ""
    """In what results are not of the reference's form; empty where they are, or there are none."""


class Verdict(Struct, frozen=True):
    """The judgement of a candidate for a problem."""

    problem: str
    candidate: str
    status: VerdictStatus
    reason: str = ""
    """One line: that of the trial which decided, and in front of it which that was."""
    trials: tuple[TrialResult, ...] = ()
    called: tuple[str, ...] = ()
    """The framework's operators that the candidate called, as far as that can be seen."""
    tested: tuple[str, ...] = ()
    """The inputs that a pass is bound to: of each trial, by dtype and shape, and the device."""
    unprotected: tuple[str, ...] = ()
    """Protections that this machine does not allow, such as a network of its own."""
    replaced: tuple[str, ...] = ()
    """The framework's operators that the reference calls, likewise."""


def worst(statuses: tuple[VerdictStatus, ...]) -> VerdictStatus:
    """Returns the status that decides among several; passed if there are none."""
    return next((each for each in VerdictStatus if each in statuses), VerdictStatus.PASSED)
