"""The fields of requests that say how commits of a repository are built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from opperf.requests.declaring import COMMITS, SETTINGS, Group, Option

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
