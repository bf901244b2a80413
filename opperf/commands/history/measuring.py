"""The command `history run`: its arguments and options."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.commit_builds import BUILD, TAKES_OTHERS, WithBuild, commit_options
from opperf.commands.history.options import commits_of_option, project_of_commits, repository, store
from opperf.parameters import count_option, debug, report_output


@click.command(
    "run",
    cls=WithBuild,
    context_settings=TAKES_OTHERS,
    examples={
        "The commits since a version, of a package that needs no build": (
            "opperf history run v1.0..main numerics.sums:total --inputs inputs.py:inputs"
        ),
        "Twenty of all, of an extension that is built in place": (
            "opperf history run ALL fastops:total --inputs inputs.py:inputs --steps 20 "
            "-- python setup.py build_ext --inplace"
        ),
        "One commit, as a wheel that is installed with NumPy 1": (
            "opperf history run v1.4.0 fastops:total --inputs inputs.py:inputs --with 'numpy<2' "
            "-- python -m build --wheel"
        ),
    },
)
@click.argument("range_", metavar="RANGE [OPERATOR]... [-- BUILD]")
@repository
@commit_options
@count_option(
    "--steps",
    "commit_steps",
    help="Measure this many commits, evenly spaced from the first to the last.",
)
@count_option(
    "--every", "commit_every", help="Measure every so many-th commit, the last one among them."
)
@click.option(
    "--retry-failed",
    is_flag=True,
    help="Try commits again that did not build or load, and cases that failed.",
)
@store
@project_of_commits
@click.option(
    "--branch",
    default="",
    metavar="NAME",
    help="Branch of the runs.  [default: the end of RANGE if that is one, else as the CI or the "
    "repository says]",
)
@commits_of_option
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print which commits would be measured, in their order, and build and measure nothing.",
)
@report_output("history run")
@debug
@click.pass_context
def run(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Measure commits of a git repository, each in its own build, and add their runs to a history.
    RANGE is `A..B`, the commits that lead to B and not to A, one commit, or ALL. What is measured
    follows, as `opperf run` takes it, with its options; BUILD, the command that builds a commit,
    follows `--`.

    The newest commit is first, then the oldest, then the middle of the largest gap: wherever it is
    interrupted, the measured ones span the range. The same command goes on then. Commits whose
    cases the history has, of this machine and environment, are omitted.

    The exit code is 3 if the history has a figure of no commit then; with --strict 1 if a commit or
    a case failed."""
    from opperf.commands.history.commits import Request, measure_commits

    words = tuple(ctx.args)
    ctx.exit(measure_commits(Request(**options, words=words, build=ctx.meta[BUILD])))
