"""The facts of commits, as git knows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from opperf.errors import UsageError, one_line
from opperf.history.model import Commit
from opperf.model import Struct
from opperf.processes.commands import run_command
from opperf.reading import is_writable

WAIT_S = 60.0
"""Seconds for git to answer: counting a million commits takes some of them."""

BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME")
"""Names of the branch in GitHub Actions, GitLab and Jenkins, which check out a commit and none."""

FORMAT = "%x00".join(("%H", "%P", "%ct", "%an", "%s"))

NOT_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables that a hook has, by which git would use another repository."""


class Checkout(Struct, frozen=True):
    """A commit of a repository, its branch, and whether the tree has other changes."""

    commit: Commit
    branch: str
    is_dirty: bool = False
    is_shallow: bool = False
    """Whether the repository lacks ancestors, so that the commit has no position."""


class GitError(UsageError):
    """A command of git's that failed."""


def git(folder: Path, *words: str, given: str = "", wait_s: float | None = WAIT_S) -> str:
    """Returns what git prints, which is given a text to read. Raises `UsageError` if there is no
    git or if it takes longer than `wait_s`, and `GitError` with its reason if it fails."""
    variables = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    command = ["git", "-C", str(folder), *words]
    done = run_command(command, variables=variables, given=given, timeout_s=wait_s)
    if not done.started:
        raise UsageError("git is not installed, or not on PATH")
    if done.code is None:
        raise UsageError(f"{folder}: git {words[0]} {done.problem}")
    if done.code:
        said = one_line(done.errors) or f"exit code {done.code}"
        raise GitError(f"{folder}: git {words[0]} failed: {said}")
    return done.output.rstrip("\n")


def read_commit(folder: Path, revision: str) -> Commit:
    """Returns a commit of a repository. Raises `UsageError` for one that it does not have."""
    try:
        name = f"{revision}^{{commit}}"
        sha = git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    except GitError as error:
        if not is_repository(folder):
            raise UsageError(
                f"{folder} is in no git repository; name it with --repository"
            ) from error
        raise UsageError(f"{folder}: the repository has no commit {revision}") from error
    commit = _commit_of(git(folder, "log", "-1", f"--format={FORMAT}", sha))
    if is_shallow(folder):
        return commit
    return msgspec.structs.replace(commit, position=_count(folder, sha))


def _commit_of(line: str) -> Commit:
    sha, parents, when, author, subject = line.split("\0", 4)
    return Commit(sha, parents.partition(" ")[0], None, float(when), author, subject)


def is_shallow(folder: Path) -> bool:
    """Returns whether a repository lacks ancestors of its commits."""
    return git(folder, "rev-parse", "--is-shallow-repository") == "true"


def _count(folder: Path, sha: str) -> int:
    """Returns the number of a commit's ancestors and itself."""
    return int(git(folder, "rev-list", "--count", sha))


def read_commits(folder: Path, shas: Iterable[str]) -> dict[str, Commit]:
    """Returns, by its id or the beginning of it, each of the commits that a repository has. Raises
    `UsageError` if git fails."""
    wanted = list(dict.fromkeys(shas))
    asked = "".join(f"{sha}^{{commit}}\n" for sha in wanted)
    answers = git(folder, "cat-file", "--batch-check=%(objectname)", given=asked).splitlines()
    # Of one that is missing or ambiguous, the answer has a second word.
    whole = {
        sha: answer
        for sha, answer in zip(wanted, answers, strict=True)
        if " " not in answer and answer.startswith(sha)
    }
    if not whole:
        return {}
    listed = "\n".join(dict.fromkeys(whole.values()))
    lines = git(folder, "log", "--no-walk", "--stdin", f"--format={FORMAT}", given=listed)
    commits = {commit.sha: commit for commit in map(_commit_of, lines.split("\n"))}
    if not is_shallow(folder):
        commits = _with_positions(folder, commits)
    return {sha: commits[found] for sha, found in whole.items()}


def _with_positions(folder: Path, commits: Mapping[str, Commit]) -> dict[str, Commit]:
    """Returns commits with their numbers of ancestors. Those of a large repository take a second to
    count; those that one commit has and another has not take none."""
    found: dict[str, Commit] = {}
    last: Commit | None = None
    for commit in sorted(commits.values(), key=lambda one: one.time):
        if last is None or last.position is None:
            position = _count(folder, commit.sha)
        else:
            between = f"{last.sha}...{commit.sha}"
            sides = git(folder, "rev-list", "--left-right", "--count", between).split()
            position = last.position - int(sides[0]) + int(sides[1])
        last = found[commit.sha] = msgspec.structs.replace(commit, position=position)
    return found


def is_repository(folder: Path) -> bool:
    """Returns whether a folder is in a repository."""
    try:
        git(folder, "rev-parse", "--git-dir")
    except GitError:
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
    return Checkout(commit, branch or read_branch(folder), is_dirty, commit.position is None)


def read_branch(folder: Path) -> str:
    """Returns the branch that a repository is at, as a CI or itself says: `HEAD` for none. Raises
    `UsageError` if git fails."""
    name = next((name for name in BRANCH_VARIABLES if os.environ.get(name)), "")
    if not name:
        return git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    branch = os.environ[name]
    if not is_writable(branch):
        raise UsageError(f"the environment variable {name} is no text in UTF-8; use --branch")
    return branch


def project_name(folder: Path) -> str:
    """Returns the name of a repository: of its origin, else of its folder."""
    try:
        url = git(folder, "remote", "get-url", "origin")
    except GitError:
        url = git(folder, "rev-parse", "--show-toplevel")
    return url.rstrip("/").rpartition("/")[2].removesuffix(".git")
