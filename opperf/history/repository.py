"""The facts of commits, as git knows them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from opperf.errors import UsageError, one_line
from opperf.history.model import Commit
from opperf.model import Struct

WAIT_S = 60.0
"""Seconds for git to answer: counting a million commits takes some of them."""

BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME")
"""Names of the branch in GitHub Actions, GitLab and Jenkins, which check out a commit and none."""

SEPARATOR = "\x1f"
"""Between the facts of a commit: no name has it."""

FORMAT = SEPARATOR.join(("%H", "%P", "%ct", "%an", "%s"))


class Checkout(Struct, frozen=True):
    """A commit of a repository, its branch, and whether the tree has other changes."""

    commit: Commit
    branch: str
    is_dirty: bool = False
    is_shallow: bool = False
    """Whether the repository lacks ancestors, so that the commit has no position."""


def git(folder: Path, *words: str) -> str:
    """Returns what git prints. Raises `UsageError` if there is no git, and with its reason if it
    fails."""
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    except FileNotFoundError as error:
        raise UsageError("git is not installed; name --commit and --branch") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{folder}: git {words[0]} took over {WAIT_S:.0f} s") from error
    if done.returncode:
        raise UsageError(f"{folder}: git {words[0]}: {one_line(done.stderr) or 'failed'}")
    return done.stdout.rstrip("\n")


def read_commit(folder: Path, revision: str) -> Commit:
    """Returns a commit of a repository. Raises `UsageError` for one that it does not have."""
    try:
        sha = git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except UsageError as error:
        if not is_repository(folder):
            raise UsageError(
                f"{folder} is in no git repository; name it with --repository"
            ) from error
        raise UsageError(f"{folder}: the repository has no commit {revision}") from error
    shown = git(folder, "log", "-1", f"--format={FORMAT}", sha)
    sha, parents, when, author, subject = shown.split(SEPARATOR, 4)
    shallow = git(folder, "rev-parse", "--is-shallow-repository") == "true"
    position = None if shallow else int(git(folder, "rev-list", "--count", sha))
    return Commit(sha, parents.partition(" ")[0], position, float(when), author, subject)


def is_repository(folder: Path) -> bool:
    """Returns whether a folder is in a repository."""
    try:
        git(folder, "rev-parse", "--git-dir")
    except UsageError:
        return False
    return True


def read_checkout(
    folder: Path, revision: str = "", branch: str = "", is_dirty: bool | None = None
) -> Checkout:
    """Returns a repository's commit, that which is checked out if none is named, the branch, as a
    CI or the repository says, and whether tracked files were changed. Raises `UsageError`."""
    commit = read_commit(folder, revision or "HEAD")
    if is_dirty is None:
        # Of a named commit nothing is known but the commit.
        status = git(folder, "status", "--porcelain", "--untracked-files=no")
        is_dirty = not revision and bool(status)
    found = branch or _of_ci() or git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return Checkout(commit, found, is_dirty, commit.position is None)


def _of_ci() -> str:
    return next(filter(None, (os.environ.get(name) for name in BRANCH_VARIABLES)), "")


def project_name(folder: Path) -> str:
    """Returns the name of a repository: of its origin, else of its folder."""
    try:
        url = git(folder, "remote", "get-url", "origin")
    except UsageError:
        url = git(folder, "rev-parse", "--show-toplevel")
    return url.rstrip("/").rpartition("/")[2].removesuffix(".git")
