"""Measures commits into a history: the fields of `opperf history run`, and of builds of commits."""

from __future__ import annotations

from typing import Annotated

import msgspec

from opperf.history.builds import WHEELS, Recipe, variables_of
from opperf.requests.declaring import COMMITS, ENDING, SETTINGS, Group, argument
from opperf.requests.fields import count_option
from opperf.requests.history.fields import AskedOf, OfCommits, option
from opperf.requests.outputs import ReportedRequest, format_option


class CommitBuilds(Group, frozen=True, kw_only=True):
    """Which commits of a range are measured, and how each is built."""

    all_parents: Annotated[
        bool,
        option(
            "--all-parents",
            "Try the commits of merged branches too, and not those of first parents alone.",
            section=COMMITS,
        ),
    ] = False
    commit_env: Annotated[
        tuple[str, ...],
        option(
            "--commit-env",
            "Environment variable of the processes that measure a commit, by which they find what "
            "was built; {worktree} stands for the commit's folder. Repeat it for several.  "
            "[default: PYTHONPATH={worktree}, unless a wheel is installed]",
            "NAME=VALUE",
            section=COMMITS,
        ),
    ] = ()
    wheel: Annotated[
        str,
        option(
            "--wheel",
            "The wheel that a build leaves, in the commit's folder: it is installed in an "
            "environment of its own, whose interpreter measures.  [default: dist/*.whl, if there "
            "is one]",
            "GLOB",
            section=COMMITS,
        ),
    ] = ""
    requirements: Annotated[
        tuple[str, ...],
        option(
            "--with",
            "Requirements that are installed beside the wheel, e.g. 'numpy<2'.",
            "REQUIREMENTS",
            section=SETTINGS,
        ),
    ] = ()

    def recipe(self, command: tuple[str, ...]) -> Recipe:
        """Returns how commits are built by a command. Raises `UsageError` for wrong variables."""
        recipe = Recipe(command=command, wheel=self.wheel or WHEELS, requirements=self.requirements)
        variables = variables_of(self.commit_env)
        return msgspec.structs.replace(recipe, variables=variables) if variables else recipe


class CommitsRequest(ReportedRequest, frozen=True, kw_only=True):
    """Measures the commits of a range, and adds their runs to a history."""

    command = "history run"
    range_: Annotated[str, argument("RANGE [OPERATOR]... [-- BUILD]")]
    of: OfCommits = OfCommits()
    builds: CommitBuilds = CommitBuilds()
    commit_steps: Annotated[
        int | None,
        count_option(
            "--steps",
            "Measure this many commits, evenly spaced from the first to the last.",
            COMMITS,
        ),
    ] = None
    commit_every: Annotated[
        int | None,
        count_option(
            "--every", "Measure every so many-th commit, the last one among them.", COMMITS
        ),
    ] = None
    retry_failed: Annotated[
        bool,
        option(
            "--retry-failed",
            "Try commits again that did not build or load, and cases that failed.",
            section=ENDING,
        ),
    ] = False
    branch: Annotated[
        str,
        option(
            "--branch",
            "Branch of the runs.  [default: the end of RANGE if that is one, else as the CI or the "
            "repository says]",
            "NAME",
        ),
    ] = ""
    commits_of: AskedOf = None
    dry_run: Annotated[
        bool,
        option(
            "--dry-run",
            "Print which commits would be measured, in their order, and build and measure nothing.",
            section=ENDING,
        ),
    ] = False
    output_format: Annotated[str, format_option("history run")] = ""
    words: tuple[str, ...] = ()
    """Those of `opperf run`, which say what is measured."""
    build: tuple[str, ...] = ()
    """Those of the command that builds a commit."""
