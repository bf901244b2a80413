"""The files of a repository, and the lines of them, that changed since a revision."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.repository import git, is_repository

HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")

BUILT = (
    *("build/", "_skbuild/", "dist/", "*.egg-info/", ".eggs/"),
    *("venv/", ".venv/", ".tox/", ".nox/", "site-packages/"),
)
"""Folders in which tools copy or install code, whether or not the repository's `.gitignore` names
them: `pip install .` of setuptools leaves a package's copy in `build/lib`."""

NOWHERE = "/dev/null"
"""Name that git gives the side that a file is not on."""


class ChangedFile(NamedTuple):
    """A file, by its path in the repository, and its lines that are new, or beside removed ones."""

    path: str
    lines: tuple[range, ...]
    is_deleted: bool = False

    def touches(self, first: int, last: int) -> bool:
        """Returns whether a line from `first` to `last` changed."""
        return any(part.start <= last and first < part.stop for part in self.lines)


def root_of(folder: Path) -> Path:
    """Returns the top folder of a repository. Raises `UsageError` where there is none."""
    if not is_repository(folder):
        raise UsageError(f"{folder} is in no git repository; name it with --repository")
    return Path(git(folder, "rev-parse", "--show-toplevel"))


def changed_files(root: Path, revision: str) -> list[ChangedFile]:
    """Returns what changed between the merge base of a revision with what is checked out and the
    files as they are, which need not be committed. Raises `UsageError` for a revision that the
    repository does not have, or that has no commit in common."""
    try:
        sha = git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except UsageError as error:
        raise UsageError(
            f"--changed-since {revision}: the repository {root} has no such commit; fetch it, "
            "in CI with the whole history"
        ) from error
    try:
        base = git(root, "merge-base", sha, "HEAD")
    except UsageError as error:
        raise UsageError(
            f"--changed-since {revision}: it has no commit in common with what is checked out in "
            f"{root}; a shallow clone lacks it"
        ) from error
    plain = ("-c", "core.quotePath=false")
    diff = git(
        root, *plain, "diff", "-U0", "--no-renames", "--no-color", "--no-ext-diff", base, "--"
    )
    new = [ChangedFile(path, (range(1, 2**31),)) for path in list_files(root, "--others")]
    return sorted([*_read_diff(diff.split("\n")), *new])


def list_files(root: Path, *words: str) -> list[str]:
    """Returns the paths that `git ls-files` prints with these words, without untracked ones that a
    build made."""
    built = [f"--exclude={folder}" for folder in BUILT]
    listed = git(root, "ls-files", "-z", "--exclude-standard", *built, *words)
    return list(dict.fromkeys(filter(None, listed.split("\0"))))


def _read_diff(lines: Iterable[str]) -> Iterator[ChangedFile]:
    old = new = ""
    found: list[range] = []
    in_head = False
    for line in lines:
        if line.startswith("diff --git "):
            yield from _file(old, new, found)
            old, new, found, in_head = "", "", [], True
        elif in_head and line.startswith("--- "):
            old = _path(line[4:])
        elif in_head and line.startswith("+++ "):
            new = _path(line[4:])
        elif hunk := HUNK.match(line):
            in_head = False
            start, count = int(hunk[1]), int(hunk[2] or 1)
            # Where lines were only removed, those beside them are in what was changed.
            found.append(range(start, start + count) if count else range(start, start + 2))
    yield from _file(old, new, found)


def _file(old: str, new: str, lines: list[range]) -> Iterator[ChangedFile]:
    if new and new != NOWHERE:
        yield ChangedFile(new, tuple(lines))
    elif old and old != NOWHERE:
        yield ChangedFile(old, (), is_deleted=True)


def _path(word: str) -> str:
    word = word.rstrip("\t")
    if word.startswith('"'):
        word = word[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")
    return word if word == NOWHERE else word.partition("/")[2]
