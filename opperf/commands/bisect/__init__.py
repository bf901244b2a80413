"""The command `bisect`: its arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.ab import parse_threads
from opperf.commands.ab.options import BLOCKS, case_time, no_pace
from opperf.commands.command import WORDS, WordsCommand
from opperf.commands.options import group_options
from opperf.defaults import BLOCK_CAP
from opperf.parameters import (
    argument_options,
    case_ids,
    count_option,
    cpus,
    debug,
    explicit_options,
    filter_options,
    framework,
    int64_tensor,
    limits,
    max_configs,
    names_option,
    no_backward,
    random_shape_options,
    report_outputs,
    session_settings,
    setting_options,
    size,
    sweep,
)
from opperf.parsing import clicked
from opperf.requests.commit_builds import CommitBuilds
from opperf.shares import read_share


@click.command(
    cls=WordsCommand,
    examples={
        "A C extension that is built in place": (
            "opperf bisect v1.0 main --ops fastops:total --inputs inputs.py:inputs "
            "-- python setup.py build_ext --inplace"
        ),
        "A package that is built as a wheel, which is installed with NumPy 1": (
            "opperf bisect v1.0 main --ops fastops:total --inputs inputs.py:inputs "
            "--with 'numpy<2' -- python -m build --wheel"
        ),
        "By instructions": (
            "opperf bisect HEAD~30 HEAD --ops fastops:total --inputs inputs.py:inputs "
            "--profiler instructions -- make"
        ),
    },
)
@click.argument("good", required=False)
@click.argument("bad", required=False)
@click.argument("build", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--repository",
    "git_folder",
    default=".",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="A folder of the git repository.",
)
@group_options(CommitBuilds)
@names_option(
    "--ops",
    help="Operators: names, globs ('broadcast_*'), regexes ('re:^sum'), paths (nd.add) or your own "
    "functions (kernels.py:softmax, module:function); or files of cases. Commas separate several.",
)
@filter_options
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
    default="1",
    show_default=True,
    callback=clicked(parse_threads),
    metavar="N|all",
    help="Number of compute threads, or all: the framework's own choice.",
)
@no_backward
@max_configs
@case_ids
@limits
@click.option(
    "--same-within",
    metavar="SHARE",
    callback=clicked(read_share),
    help="Largest change of a time between GOOD and BAD that still counts as the same.  [default: "
    "twice the threshold]",
)
@click.option(
    "--control-blocks",
    default=2,
    show_default=True,
    type=BLOCKS,
    metavar="N",
    help="Blocks of each step that measure GOOD against itself, each of four workers.",
)
@click.option(
    "--blocks",
    default=BLOCK_CAP,
    show_default=True,
    type=BLOCKS,
    metavar="N",
    help="Maximum number of blocks of a step that measure a commit against GOOD. A step ends once "
    "it is decided.",
)
@case_time
@no_pace
@click.option(
    "--confidence",
    default="95%",
    show_default=True,
    metavar="SHARE",
    callback=clicked(read_share),
    help="Probability of a commit at which the search ends.",
)
@count_option(
    "--steps", "most_steps", default=60, show_default=True, help="Maximum number of steps."
)
@click.option(
    "--timeout",
    "limit_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Limit on the time of measuring one commit, its build not included. A commit that takes "
    "longer is treated as --on-error says.  [default: none, and 5 minutes for each call of a case]",
)
@click.option(
    "--on-error",
    type=click.Choice(("bad", "skip")),
    help="What a commit is that does not build, is not measured in --timeout, or at which a case "
    "fails that GOOD runs: bad, or skipped.  [default: skipped, but where BAD fails, the commit "
    "that broke it is found]",
)
@click.option(
    "--no-confirm",
    is_flag=True,
    help="Do not measure the commit that was found against the one before it, by time and by "
    "instructions.",
)
@click.option(
    "--folder",
    default="opperf_bisect",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the state and of all measurements, a session of `opperf ab` for each step.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with the bisection in the folder; all other arguments but those of the output are "
    "as they were.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Leave the worktrees known to git. Without it their files stay in the cache only.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace the bisection in the folder and the output files if they exist.",
)
@report_outputs("bisect")
@click.option("--quiet", is_flag=True, help="Print only the report and errors.")
@debug
@framework
@click.pass_context
def bisect(ctx: click.Context, /, **options: Any) -> None:
    """Find the commit of a git repository that made operators slower (or faster): one of those
    after GOOD up to BAD. BUILD, after --, is the command that builds a commit, in a folder of its
    own; one word is a line for the shell.

    Each step measures a commit against GOOD as `opperf ab` does, interleaved in fresh processes. A
    step may be wrong, so that each only makes commits more or less probable; the search ends once
    one has a probability of --confidence. A case that GOOD runs and BAD does not is a change as
    well: the commit that broke it is found.

    The exit code is 0 if a commit was found, or a range of which all others do not build; 3 if GOOD
    and BAD do not differ, or no further step would tell.
    """
    from opperf.commands.bisect.running import bisect_command

    words = ctx.meta[WORDS]
    ctx.exit(bisect_command(bisect, words, options, explicit_options(ctx, options)))
