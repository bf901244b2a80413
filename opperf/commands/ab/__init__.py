"""The command `ab`: its arguments and options."""

from __future__ import annotations

from pathlib import Path

import click

from opperf.commands.ab.options import BLOCKS, case_time, no_pace
from opperf.commands.command import WORDS, WordsCommand
from opperf.commands.options import group_options
from opperf.defaults import BLOCK_CAP, FAIL_ON
from opperf.model import DECLARED, MAPPINGS
from opperf.parameters import (
    argument_options,
    case_ids,
    changed_options,
    cpus,
    debug,
    explicit_options,
    framework,
    int64_tensor,
    limits,
    max_configs,
    no_backward,
    operator_options,
    random_shape_options,
    report_outputs,
    session_settings,
    setting_options,
    size,
    sweep,
    weight,
)
from opperf.parsing import check_extension, clicked
from opperf.reports.formats import SESSION
from opperf.requests.parsers import findings_among
from opperf.requests.places import Cluster, Environments
from opperf.shares import read_share

FINDINGS = ("regressed", "improved", "ambiguous", "different", "missing")

ASSIGNED = ", ".join(
    f"{name}:"
    for name, setting in DECLARED.items()
    if setting.axis and name not in (*MAPPINGS, "python")
)
"""Settings that an arm can assign like the options of `run`."""


def parse_threads(text: str) -> object:
    """Parses the threads of a session."""
    # Help and completion do without the import.
    from opperf.comparison.ab.arms import read_threads

    return read_threads(text)


def parse_sample(text: str) -> float:
    """Parses a share, of which `0%` and `100%` are two."""
    whole = {"0": 0.0, "0%": 0.0, "100%": 1.0}
    return whole[text] if text in whole else read_share(text)


@click.command(
    cls=WordsCommand,
    examples={
        "Two releases, installed first, with a gate at 5 %": (
            "opperf ab relu --a env:torch==2.12 --b env:torch==2.13 --threshold 5%"
        ),
        "Two functions of your own on the same inputs": (
            "opperf ab --a ops:k.py:old --b ops:k.py:new --inputs k.py:inputs"
        ),
        "Numbers of threads, for a pull request and for a CI's view of tests": (
            "opperf ab relu --a threads:1 --b threads:2 -o verdict.md -o verdict.xml"
        ),
    },
)
@operator_options
@changed_options
@click.option(
    "--a",
    multiple=True,
    metavar="KIND:VALUE",
    help="A setting of A, in addition to the options; repeat it for several. env:NAME=VALUE, "
    "env:NAME==VERSION (requirements of an environment that is installed for the arm), "
    "options:NAME=VALUE (as --set of `opperf run`), python:INTERPRETER (of an environment with the "
    "framework), ops:NAME (compared with the other arm's ops:NAME), and "
    f"{ASSIGNED} with the values of the options of `opperf run`.  "
    "[default: none]",
)
@click.option("--b", multiple=True, metavar="KIND:VALUE", help="A setting of B, likewise.")
@click.option(
    "--arm",
    multiple=True,
    metavar="NAME=KIND:VALUE",
    help="A setting of an arm of this name, likewise, after A and B, or in their place if neither "
    "is given: up to eight arms, measured in turn. `NAME=` alone names one with nothing set.",
)
@click.option(
    "--against",
    "compares",
    type=click.Choice(("first", "all")),
    default="first",
    show_default=True,
    help="Compare each arm with the first, or all arms with each other. The error rate is that of "
    "all comparisons together.",
)
@click.option(
    "--order",
    type=click.Choice(("alternate", "block")),
    default=None,
    help="alternate: calls of the arms take turns in random order within each process, which is "
    "faster. block: each process has one arm, and processes take turns; what one arm leaves in "
    "caches, threads and allocators is then never another's.  [default: block]",
)
@group_options(Environments, "locked")
@size
@argument_options
@sweep
@int64_tensor
@random_shape_options
@session_settings
@setting_options("verify")
@cpus
@click.option(
    "--threads",
    default="1,all",
    show_default=True,
    callback=clicked(parse_threads),
    metavar="N|all|N,all",
    help="Number of compute threads of the verdicts, or all: the framework's own choice. N,all "
    "adds a coarse look at changes of more than 20 % with all threads, which has no part in the "
    "verdicts. Threads set by an arm take precedence.",
)
@no_backward
@max_configs
@case_ids
@limits
@click.option(
    "--gate",
    is_flag=True,
    help="Count the instructions of both arms first, under Valgrind, and time only cases whose "
    "counts moved or say nothing (several threads, compiled code), and a sample of the others, "
    "which are `instructions same` and have no part in the exit code.",
)
@click.option(
    "--gate-sample",
    default="10%",
    show_default=True,
    callback=clicked(parse_sample),
    metavar="SHARE",
    help="Share of the cases with the same instructions that are timed all the same, at random, at "
    "least three; 0% for none, 100% for all.",
)
@click.option(
    "--same-within",
    metavar="SHARE",
    callback=clicked(read_share),
    help="Largest change of a time that still counts as the same.  [default: twice the threshold]",
)
@click.option(
    "--control-blocks",
    default=2,
    show_default=True,
    type=BLOCKS,
    metavar="N",
    help="Blocks that measure A against itself, each of four workers.",
)
@click.option(
    "--blocks",
    default=BLOCK_CAP,
    show_default=True,
    type=BLOCKS,
    metavar="N",
    help="Maximum number of blocks that measure A against B. A case is measured until decided.",
)
@click.option(
    "--until-settled",
    is_flag=False,
    flag_value=0,
    default=None,
    type=click.IntRange(min=0),
    metavar="[N]",
    help="Go on for up to N blocks until all cases are decided.  [default of N: 4 times --blocks]",
)
@case_time
@no_pace
@click.option(
    "--check",
    is_flag=True,
    help="Compare the results of A and B, of many calls and with other contents, and time nothing. "
    "The exit code is 1 if they differ or B cannot run, and 3 if none could be compared.",
)
@click.option(
    "--no-check",
    is_flag=True,
    help="Do not compare the results of A and B, which are otherwise those of a first call, of the "
    "last timed one, and of untimed ones after it.",
)
@click.option(
    "--rtol",
    type=click.FloatRange(min=0),
    metavar="SHARE",
    help="Largest error of an element of B's outputs and gradients, as a share of A's element.  "
    "[default: by dtype, 1e-4 of float32]",
)
@click.option(
    "--atol",
    type=click.FloatRange(min=0),
    metavar="NUMBER",
    help="Absolute error that such an element may have beside that.  [default: by dtype, a share "
    "of the largest element]",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Refuse a session that would take longer, and print options that would fit.",
)
@click.option(
    "--report",
    default="opperf_ab.jsonl",
    show_default=True,
    type=click.Path(path_type=Path),
    callback=check_extension(SESSION),
    metavar="FILE",
    help="File of all measurements; `opperf compare --from-ab FILE` computes the verdicts from it "
    "again.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[FILE]",
    help="Resume the session in the report file, or in FILE, as @ID of `opperf runs`.",
)
@click.option(
    "--overwrite", is_flag=True, help="Replace the report file and the output files if they exist."
)
@weight
@report_outputs("ab")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="VERDICTS",
    callback=clicked(findings_among(FINDINGS)),
    help="What makes the command fail: regressed, improved, different (results) and missing (what "
    "A can and B cannot) with exit code 1, ambiguous with 3; or none.  "
    f"[default: {','.join(FAIL_ON)}]",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the arms, the cases and the estimated time, and measure nothing.",
)
@click.option(
    "--executor",
    type=click.Choice(("local", "ray"), case_sensitive=False),
    default="local",
    show_default=True,
    help="Where the session is measured: on this machine, or ray, one node of a cluster, which has "
    "both arms and nothing else meanwhile.",
)
@group_options(Cluster, "address", "nodes")
@click.option("--on-node", hidden=True)
@click.option("--quiet", is_flag=True, help="Print only verdicts and errors.")
@debug
@framework
@click.pass_context
def ab(ctx: click.Context, /, **options: object) -> None:
    """Measure A against B, or several arms, interleaved in fresh processes, and report which
    operators regressed, improved, stayed the same, or are ambiguous.

    A is measured against itself first; if it differs from itself, the session is invalid (exit code
    3). Then A and B are measured in blocks, each case until it is decided. The exit code is 1 if
    an operator regressed, has different results or runs in A alone, and 3 if nothing could be
    decided.

    With --profiler instructions each arm is counted once, and the counts have the verdicts of
    `opperf compare`. All commands that read run files read FILE too.
    """
    if options["on_node"]:
        from opperf.commands.ab.of_manager import measure_for_manager

        ctx.exit(measure_for_manager(options, explicit_options(ctx, options)))
    if options["executor"] == "ray":
        from opperf.commands.ab.on_node import ab_on_node

        ctx.exit(ab_on_node(options, explicit_options(ctx, options), ctx.meta[WORDS]))
    for name in ("address", "nodes"):
        if options[name]:
            raise click.UsageError(f"--{name} has no effect without --executor ray")
    from opperf.commands.ab.request import with_changed
    from opperf.commands.ab.running import ab_command

    set_here = explicit_options(ctx, options)
    selected = with_changed(options)
    if selected is not None:
        ctx.exit(ab_command(selected, set_here))
