"""Finds the commit that made operators slower or faster: the request of `opperf bisect`, and the
fields of all requests that build commits of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from opperf.model.declaring import number_between
from opperf.requests.ab.request import SessionRequest, threads_option
from opperf.requests.comparing import share_option
from opperf.requests.declaring import Group, Option, argument
from opperf.requests.operators import OperatorGroups, names_option

if TYPE_CHECKING:
    from opperf.history.builds import Recipe


class CommitBuilds(Group, frozen=True, kw_only=True):
    """Which commits of a range are measured, and how each is built."""

    section: ClassVar[str] = "Commits"

    all_parents: Annotated[
        bool,
        Option("Try the commits of merged branches too, and not those of first parents alone."),
    ] = False
    commit_env: Annotated[
        tuple[str, ...],
        Option(
            "Environment variable of the processes that measure a commit, by which they find what "
            "was built; {worktree} stands for the commit's folder. Repeat it for several.  "
            "[default: PYTHONPATH={worktree}, unless a wheel is installed]",
            metavar="NAME=VALUE",
        ),
    ] = ()
    wheel: Annotated[
        str,
        Option(
            "The wheel that a build leaves, in the commit's folder: it is installed in an "
            "environment of its own, whose interpreter measures.  [default: dist/*.whl, if there "
            "is one]",
            metavar="GLOB",
        ),
    ] = ""
    requirements: Annotated[
        tuple[str, ...],
        Option(
            "Requirements that are installed beside the wheel, e.g. 'numpy<2'.",
            metavar="REQUIREMENTS",
            section="Settings",
            spellings="--with",
        ),
    ] = ()

    def recipe(self, command: tuple[str, ...]) -> Recipe:
        """Returns how commits are built by a command. Raises `UsageError` for wrong variables."""
        from opperf.history.builds import WHEELS, Recipe, variables_of

        recipe = Recipe(command=command, wheel=self.wheel or WHEELS, requirements=self.requirements)
        variables = variables_of(self.commit_env)
        return msgspec.structs.replace(recipe, variables=variables) if variables else recipe


class BisectOperators(OperatorGroups, frozen=True, kw_only=True):
    """The operators, by name and by group."""

    ops: Annotated[
        tuple[str, ...],
        names_option(
            "Operators: names, globs ('broadcast_*'), regexes ('re:^sum'), paths (nd.add) or your "
            "own functions (kernels.py:softmax, module:function); or files of cases. Commas "
            "separate several.",
            section="Cases",
        ),
    ] = ()


class BisectRequest(SessionRequest, frozen=True, kw_only=True):
    """Finds the commit between two that made operators slower or faster."""

    section: ClassVar[str] = "Time and precision"

    good: Annotated[str, argument("[GOOD]")] = ""
    bad: Annotated[str, argument("[BAD]")] = ""
    build: Annotated[tuple[str, ...], argument("[BUILD]...")] = ()
    git_folder: Annotated[
        Path,
        Option(
            "A folder of the git repository.",
            metavar="FOLDER",
            section="Commits",
            spellings="--repository",
        ),
    ] = Path()
    builds: CommitBuilds = CommitBuilds()
    operators: BisectOperators = BisectOperators()
    threads: Annotated[
        str,
        threads_option("Number of compute threads, or all: the framework's own choice.", "N|all"),
    ] = "1"
    confidence: Annotated[
        float, share_option("Probability of a commit at which the search ends.")
    ] = 0.95
    most_steps: Annotated[int, Option("Maximum number of steps.", low=1, spellings="--steps")] = 60
    limit_s: Annotated[
        float | None,
        Option(
            "Limit on the time of measuring one commit, its build not included. A commit that "
            "takes longer is treated as --on-error says.  [default: none, and 5 minutes for each "
            "call of a case]",
            number_between(0),
            metavar="SECONDS",
            spellings="--timeout",
        ),
    ] = None
    on_error: Annotated[
        Literal["bad", "skip"] | None,
        Option(
            "What a commit is that does not build, is not measured in --timeout, or at which a "
            "case fails that GOOD runs: bad, or skipped.  [default: skipped, but where BAD fails, "
            "the commit that broke it is found]",
            section="Commits",
        ),
    ] = None
    no_confirm: Annotated[
        bool,
        Option(
            "Do not measure the commit that was found against the one before it, by time and by "
            "instructions."
        ),
    ] = False
    folder: Annotated[
        Path,
        Option(
            "Folder of the state and of all measurements, a session of `opperf ab` for each step.",
            metavar="FOLDER",
            section="Output",
        ),
    ] = Path("opperf_bisect")
    resume: Annotated[
        bool,
        Option(
            "Go on with the bisection in the folder; all other arguments but those of the output "
            "are as they were.",
            section="Plan, resumption and exit code",
        ),
    ] = False
    keep: Annotated[
        bool,
        Option(
            "Leave the worktrees known to git. Without it their files stay in the cache only.",
            section="Output",
        ),
    ] = False
