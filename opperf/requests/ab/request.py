"""Measures arms in turn: the request of `opperf ab` and of `opperf.ab`, and what the sessions of
`opperf bisect` have in common with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from opperf.defaults import BLOCK_CAP, CASE_TIME_S, LONGEST_VISIT_S, SHORTEST_VISIT_S
from opperf.model import DECLARED, MAPPINGS, SESSION_AXES, Settings
from opperf.model.declaring import integer_from, number_between
from opperf.reports.formats import SESSION
from opperf.requests.comparing import ComparingRequest, Weight, fail_on_option, share_option
from opperf.requests.declaring import Option
from opperf.requests.operators import Changed, Framework, Ids, Inputs, NoBackward, Operators
from opperf.requests.outputs import output_of
from opperf.requests.places import ClusterNodes, LockFile
from opperf.requests.settings import Cpus, SettingFields
from opperf.shares import read_share, share_text
from opperf.statistics.design import FEWEST_BLOCKS

SINGLE = (
    *(name for name, one in DECLARED.items() if one.common and name not in SESSION_AXES),
    "verify",
)
"""Settings of both arms of which a session has one value."""


def threads_option(help: str, metavar: str) -> Option:
    """Returns the declaration of the threads of a session."""
    return Option(help, read_threads, metavar=metavar, section="Settings")


def read_threads(text: str) -> str:
    """Returns the text of a session's threads. Raises `ValueError` for that of none."""
    from opperf.comparison.ab.arms import read_threads

    return str(read_threads(text))


class SessionRequest(ComparingRequest, frozen=True, kw_only=True):
    """The cases of sessions, and how long these measure them."""

    section: ClassVar[str] = "Time and precision"

    inputs: Inputs = Inputs()
    axes: Annotated[dict[str, tuple[Any, ...]], SettingFields(SESSION_AXES, are_axes=True)] = {}
    settings: Annotated[Settings, SettingFields(SINGLE)] = Settings()
    cpus: Cpus = "auto"
    threads: str = ""
    """As `Threads` reads it; a subclass declares it."""
    no_backward: NoBackward = False
    ids: Ids = ()
    same_within: Annotated[
        float | None,
        share_option(
            "Largest change of a time that still counts as the same.  [default: twice the "
            "threshold]",
            section="Comparison",
        ),
    ] = None
    control_blocks: Annotated[
        int,
        Option(
            "Blocks that measure A (GOOD of bisect) against itself, each of four workers.",
            low=FEWEST_BLOCKS,
        ),
    ] = 2
    blocks: Annotated[
        int,
        Option(
            "Maximum number of blocks that measure A against B (GOOD against a commit). Each case, "
            "or step of bisect, is measured until decided.",
            low=FEWEST_BLOCKS,
        ),
    ] = BLOCK_CAP
    case_time_s: Annotated[
        float,
        Option(
            "Time that a worker spends on a case, shared among its passes.  [default: "
            f"{CASE_TIME_S:g}; after the first look {SHORTEST_VISIT_S:g} to {LONGEST_VISIT_S:g}, "
            "as a case's scatter deserves]",
            number_between(0),
            metavar="SECONDS",
            spellings="--case-time",
        ),
    ] = CASE_TIME_S
    no_pace: Annotated[
        bool,
        Option(
            "Do not time reference work between the calls, which corrects for changes of the "
            "core's speed."
        ),
    ] = False
    quiet: Annotated[bool, Option("Print only the report and errors.", section="Output")] = False
    framework: Framework = ""


ASSIGNED = ", ".join(
    f"{name}:"
    for name, setting in DECLARED.items()
    if setting.axis and name not in (*MAPPINGS, "python")
)
"""Settings that an arm can assign like the options of `run`."""

FINDINGS = ("regressed", "improved", "ambiguous", "different", "missing")


def read_sample(text: str) -> float:
    """Returns a share, of which `0%` and `100%` are two. Raises `ValueError` beyond these."""
    whole = {"0": 0.0, "0%": 0.0, "0.0": 0.0, "100%": 1.0, "1.0": 1.0}
    return whole[text] if text in whole else read_share(text)


def read_report(text: str) -> Path:
    """Returns the path of a session's file. Raises `UsageError` for another extension."""
    path = Path(text)
    output_of(path, "", SESSION)
    return path


class ArmsRequest(SessionRequest, frozen=True, kw_only=True):
    """Several arms that one session measures."""

    section: ClassVar[str] = "Comparison"
    word: ClassVar[str]
    """The command."""

    compares: Annotated[
        Literal["first", "all"],
        Option(
            "Compare each arm with the first, or all arms with each other. The error rate is that "
            "of all comparisons together.",
            spellings="--against",
        ),
    ] = "first"
    order: Annotated[
        Literal["alternate", "block"] | None,
        Option(
            "alternate: calls of the arms take turns in random order within each process, which is "
            "faster. block: each process has one arm, and processes take turns; what one arm "
            "leaves in caches, threads and allocators is then never another's.  [default: block]",
            section="Time and precision",
        ),
    ] = None
    rtol: Annotated[
        float | None,
        Option(
            "Largest error of an element of B's outputs and gradients, as a share of A's element.  "
            "[default: by dtype, 1e-4 of float32]",
            low=0,
            metavar="SHARE",
        ),
    ] = None
    atol: Annotated[
        float | None,
        Option(
            "Absolute error that such an element may have beside that.  [default: by dtype, a "
            "share of the largest element]",
            low=0,
            metavar="NUMBER",
        ),
    ] = None
    budget_s: Annotated[
        float | None,
        Option(
            "Refuse a session that would take longer, and print options that would fit.",
            number_between(0),
            metavar="SECONDS",
            section="Time and precision",
            may_differ=True,
            spellings="--budget",
        ),
    ] = None
    report: Annotated[
        Path,
        Option(
            "File of all measurements; `opperf compare --from-ab FILE` computes the verdicts from "
            "it again.",
            read_report,
            section="Output",
        ),
    ] = Path("opperf_ab.jsonl")
    resume: Annotated[
        str | None,
        Option(
            "Resume the session in the report file, or in FILE, as @ID of `opperf runs`.",
            metavar="[FILE]",
            alone="",
            section="Plan, resumption and exit code",
            excludes={"overwrite": "the one continues a session and the other replaces it"},
        ),
    ] = None
    fail_on: tuple[str, ...] | None = None
    """Findings; a subclass declares it."""
    dry_run: Annotated[
        bool,
        Option(
            "Print the arms, the cases and the estimated time, and measure nothing.",
            section="Plan, resumption and exit code",
        ),
    ] = False


class AbRequest(ArmsRequest, frozen=True, kw_only=True):
    """Measures arms in turn, in a session whose verdicts say what changed."""

    word = "ab"
    no_keywords = (
        *("report", "resume", "dry_run", "output_files", "output_format", "a", "b", "arm"),
        *("executor", "address", "nodes"),
    )
    operators: Operators = Operators()
    changed: Changed = Changed()
    a: Annotated[
        tuple[str, ...],
        Option(
            "A setting of A, in addition to the options; repeat it for several. env:NAME=VALUE, "
            "env:NAME==VERSION (requirements of an environment that is installed for the arm), "
            "options:NAME=VALUE (as --set of `opperf run`), python:INTERPRETER (of an environment "
            "with the framework), ops:NAME (compared with the other arm's ops:NAME), and "
            f"{ASSIGNED} with the values of the options of `opperf run`.  [default: none]",
            metavar="KIND:VALUE",
            section="Arms",
        ),
    ] = ()
    b: Annotated[
        tuple[str, ...], Option("A setting of B, likewise.", metavar="KIND:VALUE", section="Arms")
    ] = ()
    arm: Annotated[
        tuple[str, ...],
        Option(
            "A setting of an arm of this name, likewise, after A and B, or in their place if "
            "neither is given: up to eight arms, measured in turn. `NAME=` alone names one with "
            "nothing set.",
            metavar="NAME=KIND:VALUE",
            section="Arms",
        ),
    ] = ()
    locked: LockFile = None
    threads: Annotated[
        str,
        threads_option(
            "Number of compute threads of the verdicts, or all: the framework's own choice. N,all "
            "adds a coarse look at changes of more than 20 % with all threads, which has no part "
            "in the verdicts. Threads set by an arm take precedence.",
            "N|all|N,all",
        ),
    ] = "1,all"
    gate: Annotated[
        bool,
        Option(
            "Count the instructions of both arms first, under Valgrind, and time only cases whose "
            "counts moved or say nothing (several threads, compiled code), and a sample of the "
            "others, which are `instructions same` and have no part in the exit code.",
            section="Time and precision",
        ),
    ] = False
    gate_sample: Annotated[
        float,
        Option(
            "Share of the cases with the same instructions that are timed all the same, at random, "
            "at least three; 0% for none, 100% for all.",
            read_sample,
            metavar="SHARE",
            section="Time and precision",
            text=share_text,
        ),
    ] = 0.1
    until_settled: Annotated[
        int | None,
        Option(
            "Go on for up to N blocks until all cases are decided.  [default of N: 4 times "
            "--blocks]",
            integer_from(0),
            metavar="[N]",
            alone="0",
            section="Time and precision",
        ),
    ] = None
    check: Annotated[
        bool,
        Option(
            "Compare the results of A and B, of many calls and with other contents, and time "
            "nothing. The exit code is 1 if they differ or B cannot run, and 3 if none could be "
            "compared."
        ),
    ] = False
    no_check: Annotated[
        bool,
        Option(
            "Do not compare the results of A and B, which are otherwise those of a first call, of "
            "the last timed one, and of untimed ones after it.",
            excludes=dict.fromkeys(("rtol", "atol"), "it is for the results"),
        ),
    ] = False
    weight: Weight = None
    fail_on: Annotated[
        tuple[str, ...] | None,
        fail_on_option(
            FINDINGS,
            "What makes the command fail: regressed, improved, different (results) and missing "
            "(what A can and B cannot) with exit code 1, ambiguous with 3; or none.",
        ),
    ] = None
    executor: Annotated[
        Literal["local", "ray"],
        Option(
            "Where the session is measured: on this machine, or ray, one node of a cluster, which "
            "has both arms and nothing else meanwhile.",
            section="Settings",
            may_differ=True,
        ),
    ] = "local"
    cluster: ClusterNodes = ClusterNodes()
