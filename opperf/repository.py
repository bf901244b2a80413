"""Git repositories: the facts of commits, those between two or of a range, worktrees of single
ones. Nothing else calls git."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from opperf.errors import UsageError, one_line
from opperf.model import Struct
from opperf.processes.commands import run_command
from opperf.reading import is_writable

WAIT_S = 60.0
"""Seconds for git to answer: counting a million commits takes some of them."""

BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME")
"""Names of the branch in GitHub Actions, GitLab and Jenkins, which check out a commit and none."""

FORMAT = "--format=" + "%x00".join(("%H", "%P", "%ct", "%an", "%aI", "%s"))

NOT_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables that a hook has, by which git would use another repository."""

SHORT = 10
"""Characters of a commit's id that are shown, as git shows it of large repositories."""

ALL = "ALL"
"""The range of all commits that lead to the one that is checked out, as asv has it."""

WHOLE_SHA = 40
"""Characters of a whole commit id; imported files may have its beginning."""


def sha_text(sha: str) -> str:
    """Returns the beginning of a commit's id."""
    return sha[:SHORT]


class Commit(Struct, frozen=True):
    """A commit, as far as it is known."""

    sha: str
    """Whole, or as much of it as an imported file has."""
    parent: str = ""
    """The first one; empty if it has none, or if that is unknown."""
    position: int | None = None
    """Number of its ancestors and itself, which grows along every line of history; None if no
    repository said it."""
    time: float = math.nan
    """When it was committed, in seconds since 1970; NaN if unknown."""
    author: str = ""
    date: str = ""
    """When it was written, as ISO 8601 has it."""
    subject: str = ""

    @property
    def short(self) -> str:
        """The beginning of its id."""
        return sha_text(self.sha)

    def __str__(self) -> str:
        return f"{self.short} ({self.subject})" if self.subject else self.short


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


def _sha(folder: Path, name: str) -> str:
    name = f"{name}^{{commit}}"
    return git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", name)


def _commits(
    folder: Path, *words: str, given: str = "", wait_s: float | None = WAIT_S
) -> list[Commit]:
    lines = git(folder, "log", FORMAT, *words, given=given, wait_s=wait_s).split("\n")
    found = []
    for line in filter(None, lines):
        sha, parents, when, *rest = line.split("\0", 5)
        found.append(Commit(sha, parents.partition(" ")[0], None, float(when), *rest))
    return found


def read_commit(folder: Path, revision: str) -> Commit:
    """Returns a commit of a repository. Raises `UsageError` for one that it does not have."""
    try:
        sha = _sha(folder, revision)
    except GitError as error:
        if not is_repository(folder):
            raise UsageError(
                f"{folder} is in no git repository; name it with --repository"
            ) from error
        raise UsageError(f"{folder}: the repository has no commit {revision}") from error
    (commit,) = _commits(folder, "--no-walk", sha)
    if is_shallow(folder):
        return commit
    return msgspec.structs.replace(commit, position=_count(folder, sha))


def is_shallow(folder: Path) -> bool:
    """Returns whether a repository lacks ancestors of its commits."""
    return git(folder, "rev-parse", "--is-shallow-repository") == "true"


def _count(folder: Path, sha: str) -> int:
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
    found = _commits(folder, "--no-walk", "--stdin", given=listed)
    commits = {commit.sha: commit for commit in found}
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


class Repository:
    """A git repository on this machine. Raises `UsageError` for a folder that is in none."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise UsageError(f"{path}: there is no such folder")
        try:
            self.path = Path(git(path, "rev-parse", "--show-toplevel"))
        except GitError as error:
            raise UsageError(
                f"{path} is in no git repository; name one with --repository"
            ) from error

    def git(self, *words: str) -> str:
        """Returns what a command of git's prints. Raises `GitError`."""
        # Checking out a large repository takes minutes.
        return git(self.path, *words, wait_s=None)

    def commit(self, name: str) -> Commit:
        """Returns the commit that a name, such as a tag or `HEAD~3`, means. Raises `UsageError`."""
        try:
            sha = _sha(self.path, name)
        except GitError as error:
            raise UsageError(f"{name}: {self.path} has no such commit") from error
        return _commits(self.path, "--no-walk", sha)[0]

    def between(self, good: Commit, bad: Commit, all_parents: bool = False) -> list[Commit]:
        """Returns the commits after `good` up to `bad`, the oldest first: of a merge those of its
        first parent, or with `all_parents` every one. Raises `UsageError` where `good` is no
        ancestor of `bad`."""
        if good.sha == bad.sha:
            raise UsageError(f"GOOD and BAD are the same commit, {good}")
        try:
            self.git("merge-base", "--is-ancestor", good.sha, bad.sha)
        except GitError as error:
            raise UsageError(
                f"GOOD, {good}, is no ancestor of BAD, {bad}; name GOOD first, a commit that BAD "
                "was made from"
            ) from error
        found = self._walk(f"{good.sha}..{bad.sha}", all_parents)
        if not all_parents:
            return found
        # Of all parents, those that do not come from GOOD lack its changes too.
        path = self.git("rev-list", "--ancestry-path", f"{good.sha}..{bad.sha}").split()
        return [commit for commit in found if commit.sha in set(path)]

    def in_range(self, text: str, all_parents: bool = False) -> list[Commit]:
        """Returns the commits of `A..B`, those that lead to B and not to A, of `ALL`, or the one
        that a name means, the oldest first: of a merge those of its first parent, or with
        `all_parents` every one. Without A or B that is `HEAD`. Raises `UsageError`."""
        if text == ALL:
            return self._walk(self.commit("HEAD").sha, all_parents)
        first, dots, last = text.partition("..")
        if not dots:
            return [self.commit(text)]
        if last.startswith("."):
            raise UsageError(
                f"{text}: a range is A..B, the commits that lead to B and not to A; A...B has "
                "those of both sides"
            )
        a, b = (self.commit(name or "HEAD") for name in (first, last))
        found = self._walk(f"{a.sha}..{b.sha}", all_parents)
        if not found:
            raise UsageError(f"{text} has no commit: {a} has all of {b}; name the older one first")
        return found

    def _walk(self, range: str, all_parents: bool) -> list[Commit]:
        parents = "--topo-order" if all_parents else "--first-parent"
        return _commits(self.path, "--reverse", parents, range, wait_s=None)

    def add_worktree(self, folder: Path, commit: Commit) -> None:
        """Checks a commit out in a folder that does not exist. Raises `GitError`."""
        self.git("worktree", "add", "--force", "--detach", str(folder), commit.sha)

    def remove_worktree(self, folder: Path) -> None:
        """Removes a worktree's folder, and what the repository knows of it, if it is there."""
        if (folder / ".git").exists():
            self.git("worktree", "remove", "--force", "--force", str(folder))
        elif folder.exists():
            shutil.rmtree(folder)
            self.git("worktree", "prune")

    def release_worktree(self, folder: Path) -> None:
        """Makes a worktree a folder that the repository knows nothing of, with its files."""
        kept = folder.with_name(f"{folder.name}.kept")
        folder.rename(kept)
        folder.mkdir()
        (kept / ".git").rename(folder / ".git")
        self.git("worktree", "remove", "--force", str(folder))
        kept.rename(folder)
