"""How a case is run: each setting declared once, with its option and how its text is read.

The command line, the arms of a comparison, `--resume`, reports and the commands they suggest read
the declarations, so that a new setting is one field here and what honours it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_type_hints

from opperf import defaults
from opperf.dtypes import canonical
from opperf.model.base import Struct

Read = Callable[[str], Any]
"""Makes a value of a text; raises `ValueError`, in words for the user, for a wrong one."""


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting."""

    option: str
    help: str
    read: Read = str
    short: str = ""
    metavar: str = "VALUE"
    identity: bool = True
    """Whether it is part of what is measured, and so of a case's id; else it says how often, how
    long or with which random numbers."""
    process: bool = False
    """Whether it belongs to the process that measures; else to the call."""
    axis: bool = False
    """Whether several values may be given, each of which is a case."""
    flag: Any = None
    """The value that the option stands for, if it takes none."""
    name: str = ""
    """The field of `Settings`."""


def one_of(*words: str) -> Read:
    """Reads one of these words, in capitals too."""

    def read(text: str) -> str:
        word = text.lower()
        if word not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return word

    return read


def integer_from(least: int) -> Read:
    """Reads a whole number that is at least this."""

    def read(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if number < least:
            raise ValueError(f"{text!r} is no whole number of {least} or more")
        return number

    return read


def number_between(low: float, high: float = float("inf")) -> Read:
    """Reads a number between these two, neither of them included."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low < value < high:
            limit = "" if high == float("inf") else f" and less than {high:g}"
            raise ValueError(f"{text!r} is no number greater than {low:g}{limit}")
        return value

    return read


ALL = "all"
"""In place of a number of threads: as many as the framework starts of its own accord."""


def read_thread_count(text: str) -> int | None:
    """Reads a number of threads; None for `all`."""
    if text.lower() == ALL:
        return None
    try:
        count: int = integer_from(1)(text)
    except ValueError:
        raise ValueError(f"{text!r} is no number of threads; write 1 or more, or all") from None
    return count


class Settings(Struct, frozen=True):
    """How a case is run."""

    device: Annotated[
        str,
        Setting(
            "--ctx",
            "Device, in the framework's words: cpu, gpu, gpu(1) ...  [default: a GPU where this "
            "build and machine have one, else the CPU]",
            metavar="DEVICE",
            axis=True,
        ),
    ] = "cpu(0)"
    dtype: Annotated[
        str,
        Setting(
            "--dtype",
            "Data type of the inputs: float32, float16, bfloat16, int8 ... as far as the framework "
            "has them.  [default: float32]",
            canonical,
            metavar="DTYPE",
            axis=True,
        ),
    ] = "float32"
    profiler: Annotated[
        str,
        Setting(
            "--profiler",
            "native: the framework's own profiler, kernel time. python: the wall clock around the "
            "call and the wait for it.  [default: native where the framework has one]",
            str.lower,
            short="-p",
            metavar="PROFILER",
            axis=True,
        ),
    ] = "native"
    warmup: Annotated[
        int | None,
        Setting(
            "--warmup",
            "Calls before anything is timed.  [default: until they get no faster]",
            integer_from(0),
            short="-w",
            metavar="CALLS",
            identity=False,
        ),
    ] = None
    """Calls before any is timed; None for as many as it takes to get warm."""
    runs: Annotated[
        int | None,
        Setting(
            "--runs",
            "Calls that are timed, in each pass.  [default: as many as --precision takes]",
            integer_from(1),
            short="-r",
            metavar="CALLS",
            identity=False,
        ),
    ] = None
    """Samples of each pass; None for as many as the precision takes."""
    precision: Annotated[
        float,
        Setting(
            "--precision",
            "Sample until the 95 % interval of the median is within this share of it, or "
            "--max-time is spent.",
            number_between(0, 1),
            metavar="SHARE",
            identity=False,
        ),
    ] = defaults.PRECISION
    """Half-width of the median's 95 % confidence interval that is wanted, as a share of it."""
    threads: Annotated[
        int | None,
        Setting(
            "--threads",
            "Compute threads: a number, or all, the framework's own choice.  [default: all]",
            read_thread_count,
            metavar="COUNT",
            process=True,
            axis=True,
        ),
    ] = None
    """Compute threads of the framework; None leaves its own choice."""
    env: Annotated[
        dict[str, str],
        Setting(
            "--env",
            "An environment variable of the processes that measure; | separates several values.",
            metavar="NAME=VALUE",
            process=True,
            axis=True,
        ),
    ] = {}
    """Environment variables that are set for the process, beside those there are."""
    python: Annotated[
        str,
        Setting(
            "--python",
            "Interpreter of an environment to measure in, with the framework in it; LABEL: before "
            "it names it in results, FRAMEWORK= limits it to one framework.",
            metavar="[LABEL:][FRAMEWORK=]PATH",
            process=True,
            axis=True,
        ),
    ] = ""
    """Label of the interpreter that measures, where a run has several; its path is in the run's
    header."""
    seed: Annotated[
        int,
        Setting(
            "--seed",
            "Seed of the inputs' contents, of random shapes, and of the order with --shuffle.",
            integer_from(0),
            metavar="NUMBER",
            identity=False,
        ),
    ] = 0
    max_time_s: Annotated[
        float | None,
        Setting(
            "--max-time",
            "Longest time a case is timed for, shared among its passes; a slow operator makes do "
            f"with fewer samples, 3 at least.  [default: {defaults.MAX_TIME_S:g}, or less in a run "
            f"of many cases, {defaults.SWEEP_S / 60:g} minutes together; no limit where -r is "
            "given]",
            number_between(0),
            metavar="SECONDS",
            identity=False,
        ),
    ] = None
    """Seconds a case is timed for at most, shared among its passes; None for no limit where `runs`
    are given, and for a usual one where they are not."""
    timeout_s: Annotated[
        float,
        Setting(
            "--timeout",
            "Longest time for one case.",
            number_between(0),
            metavar="SECONDS",
            identity=False,
        ),
    ] = defaults.TIMEOUT_S
    mode: Annotated[
        str,
        Setting(
            "--mode",
            "Execution mode, as far as the framework has several.  [default: eager]",
            str.lower,
            metavar="MODE",
            axis=True,
        ),
    ] = "eager"
    phase: Annotated[
        Literal["train", "predict"],
        Setting(
            "--phase",
            "Whether operators that differ (dropout, normalisation) run as in training or as in "
            "inference.  [default: by the operator's rule]",
            one_of("train", "predict"),
            metavar="PHASE",
            axis=True,
        ),
    ] = "predict"
    cache: Annotated[
        Literal["hot", "cold"],
        Setting(
            "--cache",
            "hot: a call finds its inputs where the one before left them. cold: in no cache.  "
            "[default: hot]",
            one_of("hot", "cold"),
            metavar="hot|cold",
            axis=True,
        ),
    ] = "hot"
    """Whether a call finds its inputs where the one before left them, or in no cache."""
    memory: Annotated[
        bool,
        Setting("--no-memory", "Measure times only.", identity=False, flag=False),
    ] = True
    """Whether peaks of memory are measured beside the times."""

    def identity(self) -> dict[str, Any]:
        """The settings that are part of what is measured. How often, how long and with which random
        numbers it is measured are not."""
        return {name: getattr(self, name) for name, one in DECLARED.items() if one.identity}

    def process(self) -> dict[str, Any]:
        """The settings that belong to the process, without those at their defaults."""
        return without_defaults(
            {name: getattr(self, name) for name, one in DECLARED.items() if one.process}
        )


def without_defaults(settings: dict[str, Any]) -> dict[str, Any]:
    """Those of the settings that are not at their defaults."""
    return {name: value for name, value in settings.items() if value != DEFAULTS[name]}


def _declared() -> Iterator[Setting]:
    for name, hint in get_type_hints(Settings, include_extras=True).items():
        (setting,) = (one for one in hint.__metadata__ if isinstance(one, Setting))
        yield replace(setting, name=name)


DECLARED: dict[str, Setting] = {setting.name: setting for setting in _declared()}
"""Every setting, by the field of `Settings`."""

DEFAULTS: dict[str, Any] = {name: getattr(Settings(), name) for name in DECLARED}
"""The default of every setting. One that changes would change ids, and so never does."""
