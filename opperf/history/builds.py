"""Builds of commits, in opperf's cache: each of a commit, a command and an environment, made once.

A build is made in a worktree at the place where it stays, as builds hold paths. Once it is done,
the worktree is released: the files stay, and the repository knows nothing of them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import field

from opperf.decoding import read_as
from opperf.environments.building import build_environment, one_builder
from opperf.environments.specification import EnvironmentSpec, read_requirements
from opperf.errors import OpperfError, UsageError, with_last_output
from opperf.folders import cache_folder
from opperf.model import Struct
from opperf.model.declaring import ID_LENGTH, digest
from opperf.processes.commands import run_command
from opperf.repository import Commit, Repository
from opperf.results.output import replace
from opperf.results.text import duration

Say = Callable[[str], None]

COMPILING = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "PATH")
"""Inherited variables that decide what a build makes."""

WHEELS = "dist/*.whl"
"""Where builds leave wheels."""

WORKTREE = "{worktree}"
"""Stands for the folder of a commit in variables of the measured processes."""

DONE = "build.json"
"""Written last: without it, a build was not finished."""


class Recipe(Struct, frozen=True):
    """How commits are built, and how measured processes find what was built."""

    command: tuple[str, ...] = ()
    """One word is a line for the shell; nothing for a repository that needs no build."""
    variables: dict[str, str] = field(default_factory=lambda: {"PYTHONPATH": WORKTREE})
    """Of the measured processes, where the build is no wheel."""
    wheel: str = WHEELS
    """Pattern of wheels in the worktree, of which one is installed where there is any."""
    requirements: tuple[str, ...] = ()
    """Installed beside the wheel."""
    keeps_worktrees: bool = False

    @property
    def words(self) -> list[str]:
        return ["sh", "-c", *self.command] if len(self.command) == 1 else list(self.command)


class Build(Struct, frozen=True):
    """A commit that is built."""

    commit: str
    folder: str
    variables: dict[str, str] = {}
    wheel: str = ""
    python: str = ""
    """The interpreter of the environment that the wheel is installed in."""

    @property
    def arm(self) -> tuple[str, ...]:
        """The assignments of an arm of `opperf ab`."""
        python = (f"python:{self.python}",) if self.python else ()
        return (*python, *(f"env:{name}={value}" for name, value in self.variables.items()))


class BuildError(OpperfError):
    """A commit that cannot be built."""


class Builder:
    """Builds commits of a repository."""

    def __init__(self, repository: Repository, recipe: Recipe, say: Say) -> None:
        self._repository, self._recipe, self._say = repository, recipe, say
        self.made = 0
        """Builds that were not in the cache."""

    def build(self, commit: Commit) -> Build:
        """Returns the build of a commit, from the cache if it is there. Raises `BuildError`."""
        folder = builds_folder() / self._key(commit)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with one_builder(folder, "builds", self._say):
                return self._installed(self._found(folder) or self._make(commit, folder))
        except OSError as error:
            raise UsageError(f"{folder} cannot be written: {error.strerror}") from error

    def _key(self, commit: Commit) -> str:
        recipe = msgspec.structs.replace(
            self._recipe, requirements=(), variables={}, keeps_worktrees=False
        )
        made = {
            "commit": commit.sha,
            "recipe": msgspec.to_builtins(recipe),
            "python": [sys.executable, sys.version],
            "inherited": {name: os.environ.get(name, "") for name in COMPILING},
        }
        return f"{commit.short}-{digest(made)[:ID_LENGTH]}"

    def _found(self, folder: Path) -> Build | None:
        try:
            found = read_as(folder / DONE, Build)
        except (OSError, msgspec.DecodeError):
            return None
        return found if Path(found.folder).is_dir() else None

    def _make(self, commit: Commit, folder: Path) -> Build:
        tree, log = folder / "tree", folder / "build.log"
        (folder / DONE).unlink(missing_ok=True)
        # One that a killed process has left.
        shutil.rmtree(folder / "tree.kept", ignore_errors=True)
        self._repository.remove_worktree(tree)
        begun = time.monotonic()
        self._repository.add_worktree(tree, commit)
        try:
            self._run(commit, tree, log)
        except BaseException:
            self._repository.remove_worktree(tree)
            raise
        seconds = time.monotonic() - begun
        if not self._recipe.keeps_worktrees:
            self._repository.release_worktree(tree)
        self.made += 1
        wheel = self._wheel(commit, tree)
        made = Build(commit.sha, str(tree), wheel=wheel)
        replace(folder / DONE, msgspec.json.format(msgspec.json.encode(made)) + b"\n")
        self._say(f"built {commit} in {duration(seconds)}")
        return made

    def _run(self, commit: Commit, tree: Path, log: Path) -> None:
        if not self._recipe.command:
            return
        with log.open("wb") as output:
            done = run_command(self._recipe.words, tree, output=output)
        if not done.started:
            raise UsageError(f"the build {shlex.join(self._recipe.command)} {done.problem}")
        if done.code:
            lines = log.read_text(errors="replace").splitlines()
            reason = with_last_output(f"exit code {done.code}", lines)
            raise BuildError(f"{reason} (all that it printed: {log})")

    def _wheel(self, commit: Commit, tree: Path) -> str:
        found = sorted(tree.glob(self._recipe.wheel))
        if len(found) > 1:
            raise BuildError(
                f"{commit}: the build left {len(found)} wheels, "
                f"{', '.join(path.name for path in found)}; name one with --wheel"
            )
        if not found and self._recipe.wheel != WHEELS:
            raise BuildError(f"{commit}: the build left no wheel at {self._recipe.wheel}")
        return str(found[0]) if found else ""

    def _installed(self, build: Build) -> Build:
        own = {
            name: value.replace(WORKTREE, build.folder)
            for name, value in self._recipe.variables.items()
            if not (build.wheel and value == WORKTREE)
        }
        if not build.wheel:
            return msgspec.structs.replace(build, variables=_with_inherited(own))
        path = Path(build.wheel)
        text = f"{path.name.partition('-')[0]} @ {path.as_uri()}"
        asked = read_requirements(",".join((text, *self._recipe.requirements)))
        spec = EnvironmentSpec(requirements=asked.requirements, python=asked.python)
        python = str(build_environment(spec, self._say).python)
        return msgspec.structs.replace(build, python=python, variables=own)


SEARCHED = ("PYTHONPATH", "LD_LIBRARY_PATH", "PATH")
"""Variables of folders that are searched in turn: a commit's come before the inherited ones."""


def _with_inherited(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name: os.pathsep.join(filter(None, (value, os.environ.get(name, ""))))
        if name in SEARCHED
        else value
        for name, value in variables.items()
    }


def builds_folder() -> Path:
    """Returns the folder of all builds."""
    return cache_folder() / "builds"


def variables_of(assignments: Sequence[str]) -> dict[str, str]:
    """Returns the variables of `NAME=VALUE`. Raises `UsageError` for anything else."""
    found: dict[str, str] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"--commit-env {text!r}: write it as NAME=VALUE")
        found[name] = value
    return found
