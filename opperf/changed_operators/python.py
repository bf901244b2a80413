"""The files of a repository that changed since a revision, with the lines, and the functions of
Python in them, with those that call them."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.reading import read_text
from opperf.repository import git

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


SUFFIX = ".py"

WORD = re.compile(r"\w+")

NOT_MEASURED = ("test", "tests", "docs", "doc", "examples", "benchmarks")
"""Folders whose functions are no kernels."""

NOT_KERNELS = ("conftest.py", "setup.py")


class Function(NamedTuple):
    """A function, class or name at the top of a file."""

    path: str
    name: str
    first: int
    last: int
    uses: frozenset[str]
    takes_arguments: bool
    """Whether it is a function of some."""

    @property
    def is_public(self) -> bool:
        """Whether it may be measured: it takes arguments, and is not private and not of tests."""
        *folders, file = self.path.split("/")
        return (
            self.takes_arguments
            and not self.name.startswith(("_", "test_"))
            and not any(folder in NOT_MEASURED for folder in folders)
            and not file.startswith(("test_", "_"))
            and file not in NOT_KERNELS
        )


class PythonFiles:
    """The Python files of a repository, read when a name is looked for."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def reached(self, changed: ChangedFile) -> Iterator[list[Function]]:
        """Yields the functions of a file that changed, then those of the repository that call
        them, then the callers of these, and so on. Raises `SyntaxError` for a file that is not
        Python."""
        level = [
            function
            for function in self._parse(changed.path)
            if changed.touches(function.first, function.last)
        ]
        found: set[tuple[str, str]] = set()
        while level:
            found |= {(function.path, function.name) for function in level}
            yield sorted(level)
            callers = {
                (caller.path, caller.name): caller
                for function in level
                for caller in self._callers(function)
            }
            level = [caller for key, caller in callers.items() if key not in found]

    def target(self, function: Function, here: Path) -> str:
        """Returns how `opperf run` names a function: `package.module:function` in a package, else
        by its file, seen from the folder `here`."""
        path = self._root / function.path
        parts = [path.stem]
        folder = path.parent
        while (folder / "__init__.py").is_file():
            parts.append(folder.name)
            folder = folder.parent
        if len(parts) > 1:
            return f"{'.'.join(reversed(parts))}:{function.name}"
        try:
            shown = path.relative_to(here)
        except ValueError:
            shown = path
        return f"{shown}:{function.name}"

    def _callers(self, called: Function) -> Iterator[Function]:
        module = Path(called.path).stem
        if module == "__init__":
            module = Path(called.path).parent.name
        words = self._files_by_word
        for path in words[called.name]:
            if path != called.path and path not in words[module]:
                continue
            try:
                users = self._users(path)
            except SyntaxError:
                # Of another version of Python, or a template.
                continue
            for function in users[called.name]:
                if (function.path, function.name) != (called.path, called.name):
                    yield function

    @functools.cached_property
    def _files_by_word(self) -> defaultdict[str, set[str]]:
        """The files that have a word. A common function has thousands of callers, for each of which
        reading all files takes minutes in a large repository."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for path in self._files:
            for word in set(WORD.findall(self._text(path))):
                found[word].add(path)
        return found

    @functools.cache  # noqa: B019 - of one command
    def _users(self, path: str) -> defaultdict[str, list[Function]]:
        found: defaultdict[str, list[Function]] = defaultdict(list)
        for function in self._parse(path):
            for name in function.uses:
                found[name].append(function)
        return found

    @functools.cached_property
    def _files(self) -> Sequence[str]:
        paths = list_files(self._root, "--cached", "--others", "*.py")
        return [path for path in paths if (self._root / path).is_file()]

    @functools.cache  # noqa: B019 - of one command
    def _text(self, path: str) -> str:
        return read_text(self._root / path, errors="replace")

    @functools.cache  # noqa: B019 - of one command
    def _parse(self, path: str) -> tuple[Function, ...]:
        tree = ast.parse(self._text(path))
        return tuple(function for node in tree.body for function in _functions(path, node))


def _functions(path: str, node: ast.stmt) -> Iterator[Function]:
    uses = frozenset(_uses(node))
    last = node.end_lineno or node.lineno
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            first = min([node.lineno, *(function.lineno for function in node.decorator_list)])
            takes = isinstance(node, ast.FunctionDef) and bool(
                node.args.posonlyargs + node.args.args
            )
            yield Function(path, node.name, first, last, uses, takes)
        case ast.Assign() | ast.AnnAssign():
            targets: Iterable[ast.expr] = (
                node.targets if isinstance(node, ast.Assign) else [node.target]
            )
            for target in targets:
                if isinstance(target, ast.Name):
                    yield Function(path, target.id, node.lineno, last, uses, takes_arguments=False)


def _uses(node: ast.stmt) -> Iterator[str]:
    for function in ast.walk(node):
        match function:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
