"""A git repository: the commits between two or of a range, and worktrees of single ones."""

from __future__ import annotations

import shutil
from pathlib import Path

from opperf.errors import UsageError
from opperf.history.repository import GitError, git
from opperf.model import Struct

FIELDS = "%H%x00%an%x00%aI%x00%s"
"""Hash, author, date of the author and subject of a commit, in git's words."""

SHORT = 10
"""Digits of a commit's hash that are shown."""


ALL = "ALL"
"""The range of all commits that lead to the one that is checked out, as asv has it."""


class Commit(Struct, frozen=True):
    """A commit."""

    sha: str
    author: str = ""
    date: str = ""
    """Of the author, as ISO 8601 writes it."""
    subject: str = ""

    @property
    def short(self) -> str:
        return self.sha[:SHORT]

    def __str__(self) -> str:
        return f"{self.short} ({self.subject})" if self.subject else self.short


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
            sha = self.git(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            )
        except GitError as error:
            raise UsageError(f"{name}: {self.path} has no such commit") from error
        return self._commits("--no-walk", sha)[0]

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
        parents = ["--topo-order"] if all_parents else ["--first-parent"]
        found = self._commits("--reverse", *parents, f"{good.sha}..{bad.sha}")
        # Of all parents, those that do not come from GOOD lack its changes too.
        return self._descendants(good, found) if all_parents else found

    def in_range(self, text: str, all_parents: bool = False) -> list[Commit]:
        """Returns the commits of `A..B`, those that lead to B and not to A, of `ALL`, or the one
        that a name means, the oldest first: of a merge those of its first parent, or with
        `all_parents` every one. Without A or B that is `HEAD`. Raises `UsageError`."""
        parents = ["--topo-order"] if all_parents else ["--first-parent"]
        if text == ALL:
            return self._commits("--reverse", *parents, self.commit("HEAD").sha)
        first, dots, last = text.partition("..")
        if not dots:
            return [self.commit(text)]
        if last.startswith("."):
            raise UsageError(
                f"{text}: a range is A..B, the commits that lead to B and not to A; A...B has "
                "those of both sides"
            )
        a, b = (self.commit(name or "HEAD") for name in (first, last))
        found = self._commits("--reverse", *parents, f"{a.sha}..{b.sha}")
        if not found:
            raise UsageError(f"{text} has no commit: {a} has all of {b}; name the older one first")
        return found

    def _descendants(self, good: Commit, commits: list[Commit]) -> list[Commit]:
        path = self.git("rev-list", "--ancestry-path", f"{good.sha}..{commits[-1].sha}").split()
        return [commit for commit in commits if commit.sha in set(path)]

    def _commits(self, *words: str) -> list[Commit]:
        lines = self.git("log", f"--format={FIELDS}", *words).split("\n")
        return [Commit(*line.split("\0", 3)) for line in lines if line]

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
