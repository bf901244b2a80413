"""Finds the commit that made operators slower or faster: the request of `opperf bisect`, and the
fields of all requests that build commits of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from opperf.model.declaring import number_between
from opperf.requests.ab.request import SessionRequest, threads_option
from opperf.requests.comparing import share_option
from opperf.requests.declaring import (
    COMMITS,
    ENDING,
    OUTPUT,
    PRECISION,
    SETTINGS,
    Group,
    Option,
    argument,
)
from opperf.requests.fields import number_option
from opperf.requests.operators import OperatorGroups, names_option

if TYPE_CHECKING:
    from opperf.history.builds import Recipe


class CommitBuilds(Group, frozen=True, kw_only=True):
    """Which commits of a range are measured, and how each is built."""

    all_parents: Annotated[
        bool,
        Option(
            "--all-parents",
            "Try the commits of merged branches too, and not those of first parents alone.",
            section=COMMITS,
        ),
    ] = False
    commit_env: Annotated[
        tuple[str, ...],
        Option(
            "--commit-env",
            "Environment variable of the processes that measure a commit, by which they find what "
            "was built; {worktree} stands for the commit's folder. Repeat it for several.  "
            "[default: PYTHONPATH={worktree}, unless a wheel is installed]",
            metavar="NAME=VALUE",
            section=COMMITS,
        ),
    ] = ()
    wheel: Annotated[
        str,
        Option(
            "--wheel",
            "The wheel that a build leaves, in the commit's folder: it is installed in an "
            "environment of its own, whose interpreter measures.  [default: dist/*.whl, if there "
            "is one]",
            metavar="GLOB",
            section=COMMITS,
        ),
    ] = ""
    requirements: Annotated[
        tuple[str, ...],
        Option(
            "--with",
            "Requirements that are installed beside the wheel, e.g. 'numpy<2'.",
            metavar="REQUIREMENTS",
            section=SETTINGS,
        ),
    ] = ()

    def recipe(self, command: tuple[str, ...]) -> Recipe:
        """Returns how commits are built by a command. Raises `UsageError` for wrong variables."""
        # Help and completion do without the import.
        from opperf.history.builds import WHEELS, Recipe, variables_of

        recipe = Recipe(command=command, wheel=self.wheel or WHEELS, requirements=self.requirements)
        variables = variables_of(self.commit_env)
        return msgspec.structs.replace(recipe, variables=variables) if variables else recipe


# Help and completion do without the imports of what bisects.


class BisectOperators(OperatorGroups, frozen=True, kw_only=True):
    """The operators, by name and by group."""

    ops: Annotated[
        tuple[str, ...],
        names_option(
            "--ops",
            "Operators: names, globs ('broadcast_*'), regexes ('re:^sum'), paths (nd.add) or your "
            "own functions (kernels.py:softmax, module:function); or files of cases. Commas "
            "separate several.",
        ),
    ] = ()


class BisectRequest(SessionRequest, frozen=True, kw_only=True):
    """Finds the commit between two that made operators slower or faster."""

    good: Annotated[str, argument("[GOOD]")] = ""
    bad: Annotated[str, argument("[BAD]")] = ""
    build: Annotated[tuple[str, ...], argument("[BUILD]...")] = ()
    git_folder: Annotated[
        Path,
        Option(
            "--repository", "A folder of the git repository.", metavar="FOLDER", section=COMMITS
        ),
    ] = Path()
    builds: CommitBuilds = CommitBuilds()
    operators: BisectOperators = BisectOperators()
    threads: Annotated[
        str,
        threads_option("Number of compute threads, or all: the framework's own choice.", "N|all"),
    ] = "1"
    confidence: Annotated[
        float,
        share_option(
            "--confidence", "Probability of a commit at which the search ends.", PRECISION
        ),
    ] = 0.95
    most_steps: Annotated[
        int,
        number_option("--steps", "Maximum number of steps.", "N", PRECISION, low=1, default=60),
    ] = 60
    limit_s: Annotated[
        float | None,
        Option(
            "--timeout",
            "Limit on the time of measuring one commit, its build not included. A commit that "
            "takes longer is treated as --on-error says.  [default: none, and 5 minutes for each "
            "call of a case]",
            number_between(0),
            metavar="SECONDS",
            section=PRECISION,
        ),
    ] = None
    on_error: Annotated[
        Literal["bad", "skip"] | None,
        Option(
            "--on-error",
            "What a commit is that does not build, is not measured in --timeout, or at which a "
            "case fails that GOOD runs: bad, or skipped.  [default: skipped, but where BAD fails, "
            "the commit that broke it is found]",
            section=COMMITS,
        ),
    ] = None
    no_confirm: Annotated[
        bool,
        Option(
            "--no-confirm",
            "Do not measure the commit that was found against the one before it, by time and by "
            "instructions.",
            section=PRECISION,
        ),
    ] = False
    folder: Annotated[
        Path,
        Option(
            "--folder",
            "Folder of the state and of all measurements, a session of `opperf ab` for each step.",
            metavar="FOLDER",
            section=OUTPUT,
        ),
    ] = Path("opperf_bisect")
    resume: Annotated[
        bool,
        Option(
            "--resume",
            "Go on with the bisection in the folder; all other arguments but those of the output "
            "are as they were.",
            section=ENDING,
        ),
    ] = False
    keep: Annotated[
        bool,
        Option(
            "--keep",
            "Leave the worktrees known to git. Without it their files stay in the cache only.",
            section=OUTPUT,
        ),
    ] = False
