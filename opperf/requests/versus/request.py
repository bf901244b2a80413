"""Compares implementations of operations: the request of `opperf versus` and `opperf.versus`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from opperf.frameworks import PREFERENCE
from opperf.requests.ab.request import ArmsRequest, read_report, threads_option
from opperf.requests.declaring import Option, argument
from opperf.requests.operators import names_option
from opperf.requests.parsers import Words, findings_among, parse_labels, split_commas
from opperf.requests.problems import Sets, path_of_problems

WRONG, SLOWER = "wrong", "slower"

FINDINGS = (WRONG, SLOWER, "lacking")
"""The findings that a comparison of implementations can fail on."""


def _read_interpreters(texts: Words) -> Mapping[str, str]:
    """Returns interpreters by arm or framework. Raises `ValueError` for one that is no program."""
    from opperf.processes.commands import find_program

    found = dict(parse_labels(texts))
    for name, path in found.items():
        program = find_program(path)
        if program is None:
            raise ValueError(f"{name}={path}: no such program, or it is not executable")
        found[name] = program
    return found


class VersusRequest(ArmsRequest, frozen=True, kw_only=True):
    """Measures the same operations in several implementations, on the same data."""

    section: ClassVar[str] = "Comparison"

    word = "versus"
    no_keywords = (
        *("report", "resume", "dry_run", "plot", "output_files", "output_format"),
        *("candidates", "reference", "making_inputs", "trials", "gradients", "sets", "results"),
    )
    omitted = ("framework", "ids", "mode", "input_function", "imports", "profiler", "verify")

    names: Annotated[tuple[str, ...], argument("[OPERATION|FOLDER]...", gather=split_commas)] = ()
    categories: Annotated[
        tuple[str, ...],
        names_option(
            "All operations of this group: unary, binary, reductions, layers, normalisation, "
            "losses, windows, sorting, indexing, shapes, factorisations, matrices, special.",
            section="Cases",
            spellings="--category",
        ),
    ] = ()
    among: Annotated[
        tuple[str, ...],
        names_option(
            "Implementations, the first of which is the base: FRAMEWORK[.NAMESPACE][:MODE], as "
            "numpy, torch, torch:compile, jax.lax, jax:jit; compile is any framework's compiled "
            "mode.  [default: all installed frameworks of "
            f"{', '.join(PREFERENCE)}]",
            metavar="ARMS",
            section="Arms",
        ),
    ] = ()
    python: Annotated[
        dict[str, str],
        Option(
            "Interpreter of the environment that has an arm, or all arms of a framework, e.g. "
            "torch=/opt/torch/bin/python. Repeat it for several.",
            gather=_read_interpreters,
            metavar="NAME=PATH",
            section="Arms",
        ),
    ] = {}
    candidates: Annotated[
        tuple[str, ...],
        names_option(
            "Judge a kernel of a file, FILE.py:FUNCTION, against an OPERATION in the first arm of "
            "its framework, beside the others, or against --reference: in a process that it does "
            "not control, on inputs that are new to each call. It gets the operation's inputs by "
            "position, as --dry-run prints them. With a FOLDER of problems: a "
            "file that solves one, beside those in the folder. Repeat it for several.",
            metavar="FUNCTIONS",
            section="Arms",
            spellings="--candidate",
        ),
    ] = ()
    reference: Annotated[
        str,
        Option(
            "The function that candidates replace: FILE.py:FUNCTION.",
            section="Arms",
            metavar="FUNCTION",
        ),
    ] = ""
    making_inputs: Annotated[
        str,
        Option(
            "The function that returns the arguments for a seed, FILE.py:FUNCTION; candidates get "
            "other ones for each call.  [default: make_inputs in the file of --reference]",
            section="Arms",
            metavar="FUNCTION",
            spellings="--inputs",
        ),
    ] = ""
    trials: Annotated[
        tuple[str, ...],
        Option(
            "Keywords of the function of --inputs, such as 'rows=64 columns=512'. Repeat it for "
            "several: a candidate has to be right in all.",
            gather=tuple,
            metavar="KEYWORDS",
            section="Arms",
            spellings="--trial",
        ),
    ] = ()
    gradients: Annotated[
        bool, Option("Judge the gradients of candidates as well.", section="Arms")
    ] = False
    sets: Sets = {}
    results: Annotated[
        Path | None,
        Option(
            "With a FOLDER of problems: write the results to this folder, in the files of the "
            "problems' own tool.",
            metavar="FOLDER",
            section="Output",
        ),
    ] = None
    order: Annotated[
        Literal["alternate", "block"] | None,
        Option(
            "alternate: calls of the arms take turns in random order within each process, which "
            "has all. block: each process has one arm, and processes take turns.  [default: "
            "alternate for arms of one framework, which one process can have, else block]",
            section="Time and precision",
        ),
    ] = None
    threads: Annotated[
        str,
        threads_option(
            "Number of compute threads, the same in all arms, or all: each framework's own choice.",
            "N|all",
        ),
    ] = "1"
    quick: Annotated[
        bool,
        Option(
            "A first look: two short processes of each arm, whose ratios are no verdicts.",
            section="Time and precision",
            excludes=dict.fromkeys(
                ("blocks", "control_blocks"), "a first look is not measured until it is decided"
            ),
        ),
    ] = False
    report: Annotated[
        Path, Option("File of all measurements, a session.", read_report, section="Output")
    ] = Path("opperf_versus.jsonl")
    plot: Annotated[
        Path | None,
        Option(
            "With --sweep: image of times, ratios, and GB/s or GFLOP/s of each arm against the "
            "size, as .png, .svg or .html.",
            section="Output",
        ),
    ] = None
    fail_on: Annotated[
        tuple[str, ...] | None,
        Option(
            "Exit with 1 on any of these: wrong (other results than the first), slower (than the "
            "first, by verdict), lacking (an operation that an arm has not); or none.  [default: "
            "wrong]",
            gather=findings_among(FINDINGS),
            metavar="FINDINGS",
            section="Plan, resumption and exit code",
        ),
    ] = None
    dry_run: Annotated[
        bool,
        Option(
            "Print which operator of each arm is measured, and measure nothing.",
            section="Plan, resumption and exit code",
        ),
    ] = False


APPLYING = frozenset(
    {
        *("names", "candidates", "sets", "results", "threads", "rtol", "atol"),
        *("quiet", "output_files", "output_format", "overwrite"),
    }
)
"""Fields that apply to problems of kernels."""


def folder_of(request: VersusRequest) -> Path | None:
    """Returns the file or folder of problems that a request names; None of operators. Raises
    `UsageError`."""
    path = path_of_problems(request, request.names, APPLYING)
    named = next(iter(request.names), "")
    is_meant = "/" in named or (named and (request.sets or request.results))
    # What is wrong with it is found where it is read.
    return Path(named) if path is None and is_meant else path
