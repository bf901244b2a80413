"""The exceptions opperf raises. The command line prints a message as one line, which says what is
wrong, where, and what to do, and ends with the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.near_names import nearest

FOUND = 1
"""Exit code of a command that found what it was asked to look for."""

INCONCLUSIVE = 3
"""Exit code of a command that could not decide what it was asked to."""

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the number of SIGINT, as shells have it."""

TERMINATED = 143
"""Exit code after SIGTERM, likewise."""


class OpperfError(Exception):
    """Base of every error opperf raises on purpose. `exit_code` is that of the command line: 2,
    wrong usage or input, unless a subclass overrides it."""

    exit_code = 2


class UsageError(OpperfError):
    """A flag, argument or value that cannot be used."""


class UnknownOperatorError(OpperfError):
    """A name that no operator of the framework has."""


class BrokenModuleError(UnknownOperatorError):
    """A function's module that is there, and fails when it is imported."""


class RuleError(OpperfError):
    """A rule for an operator's inputs that cannot be registered, or whose code fails."""


class FailedRuleError(RuleError):
    """A rule whose code fails for one operator, which costs that operator alone."""


class DeviceError(OpperfError):
    """A device that this build or this machine does not have; `device` is its canonical name."""

    def __init__(self, message: str, device: str = "") -> None:
        super().__init__(message)
        self.device = device


class FrameworkError(OpperfError):
    """A framework that is not installed, or cannot be loaded."""


class InstallationError(OpperfError):
    """An environment that cannot be installed: the message has the requirements and the reason."""


class OutputError(OpperfError):
    """An output file that already exists, or cannot be written."""


class RunFileError(OpperfError):
    """A run file that cannot be read, resumed or trusted."""


class CallgrindError(OpperfError):
    """A file of callgrind's that cannot be read, or cannot be compared with another."""


class WorkerError(OpperfError):
    """A worker process that could not be started, or that ended before it responded."""

    exit_code = 3


class TimeLimitError(OpperfError):
    """A measurement that was not complete within the time that the user gave it."""

    exit_code = INCONCLUSIVE


class InternalError(OpperfError):
    """A fault of opperf itself, not of the user."""

    exit_code = 3


class ProfilerError(OpperfError):
    """A profiler that recorded nothing, or not all calls."""

    exit_code = INCONCLUSIVE


class NoGradientError(OpperfError):
    """The operator has no gradient for these inputs; the message is the reason."""


class UnsupportedError(OpperfError):
    """The operator does not support this configuration: the case is `skipped`, not `failed`."""


def suggest(word: str, known: Iterable[str], limit: int = 3) -> str:
    """Returns `"; did you mean a, b?"` with the known words nearest to `word`, or an empty text."""
    return did_you_mean(nearest(word, known, limit))


def did_you_mean(words: Sequence[str]) -> str:
    """Returns `"; did you mean a, b?"`, or an empty text if there are no words."""
    return f"; did you mean {', '.join(words)}?" if words else ""


def unknown(kind: str, word: str, known: Iterable[str], owner: str = "") -> UsageError:
    """The error for a word that is not among the known ones of `owner`, which lists them."""
    listed = list(known)
    whose = f"{owner} has" if owner else "known"
    return UsageError(
        f"unknown {kind} {word!r}{suggest(word, listed)}; {whose}: {', '.join(listed)}"
    )


def one_line(text: str, limit: int = 300) -> str:
    """Returns the text as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


LAST_OUTPUT = "; last output: "

LAST_LINES = 3
"""Lines of a process's output that a reason has: those that a fault in C or in Python ends with."""

LONGEST_LINE = 160
"""Most characters of each of them."""


def with_last_output(reason: str, lines: Iterable[str]) -> str:
    """Returns the reason with the last lines that a process wrote, if it wrote any."""
    last = [one_line(line, LONGEST_LINE) for line in lines if line.strip()][-LAST_LINES:]
    return f"{reason}{LAST_OUTPUT}{' | '.join(last)}" if last else reason
