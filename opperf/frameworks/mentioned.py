"""The framework of a command, which one that names none has of the names and files it mentions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opperf.errors import FrameworkError
from opperf.frameworks import (
    PREFERENCE,
    available,
    default_framework,
    is_available,
    package_of,
)
from opperf.frameworks.installed import package_version
from opperf.model import Interpreter
from opperf.reading import WRITTEN_BY_HAND, read_bytes

WORDS = ("names", "name", "ops", "input_function", "imports")
"""Parameters of commands whose values name operators, functions or files."""


FILE = re.compile(r"(?P<file>.+\.py)(:.*)?")
"""A user's file, with or without what is meant in it."""

NUMPY = "numpy"


class Mention(NamedTuple):
    """A framework, and by what it is chosen."""

    framework: str
    why: str


def mentioned_framework(parameters: Mapping[str, Any]) -> Mention | None:
    """Returns the framework that the names, files and requirements of a command's parameters
    mention."""
    return mentioned_among(_words(parameters), _requirements(parameters))


def mentioned_among(words: Iterable[str], requirements: Iterable[str] = ()) -> Mention | None:
    """Returns the only installed framework of a name or an imported module among words; NumPy,
    which all files use, counts alone only."""
    found: dict[str, str] = {}
    for word in words:
        for root in _roots(word):
            for name in _frameworks(root):
                found.setdefault(name, word)
    if not found:
        return _required_framework(requirements)
    if len(found) > 1:
        found.pop(NUMPY, None)
    if len(found) != 1:
        return None
    ((name, word),) = found.items()
    file = FILE.fullmatch(word)
    why = f"which {file['file']} imports" if file else f"which {word} is of"
    return Mention(name, why) if is_available(name) else None


def _required_framework(requirements: Iterable[str]) -> Mention | None:
    """Returns the only framework of the requirements, NumPy aside, of environments that are yet to
    be installed."""
    found: dict[str, str] = {}
    for requirement in requirements:
        match = NAME.match(requirement)
        for name in _frameworks(match[0]) if match else ():
            found.setdefault(name, requirement)
    if len(found) > 1:
        found.pop(NUMPY, None)
    if len(found) != 1:
        return None
    ((name, requirement),) = found.items()
    return Mention(name, f"which {requirement} requires")


NAME = re.compile(r"[\w-]+")
"""The name at the beginning of a requirement."""


def _requirements(parameters: Mapping[str, Any]) -> Iterable[str]:
    """Yields the requirements of `--with`."""
    for spec in parameters.get("requirements") or ():
        yield from spec.requirements


def _words(parameters: Mapping[str, Any]) -> Iterable[str]:
    for parameter in WORDS:
        given = parameters.get(parameter) or ()
        yield from map(str, (given,) if isinstance(given, str) else given)


def _roots(word: str) -> set[str]:
    file = FILE.fullmatch(word)
    if file is None:
        root, dot, _ = word.partition(".")
        return {root} if dot else set()
    try:
        tree = ast.parse(read_bytes(file["file"], WRITTEN_BY_HAND))
    except (OSError, SyntaxError, ValueError):
        # Whoever reads the file for its contents says what is wrong with it.
        return set()
    imported = [
        alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    ]
    return {alias.name.partition(".")[0] for alias in imported} | {
        (node.module or "").partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    }


def _frameworks(root: str) -> Iterable[str]:
    for name in available():
        try:
            package = package_of(name)
        except FrameworkError:
            continue
        if package is not None and root in (package.name, *package.parts):
            yield name


@dataclass(frozen=True)
class FrameworkChoice:
    """The framework of a request, and how it was chosen."""

    name: str
    is_named: bool
    elsewhere: bool
    """Whether another interpreter measures it, whose version is not known here."""
    mention: Mention | None
    """The name or file that decides; None for the first installed one."""


def report_choice(choice: FrameworkChoice, say: Callable[[str], None]) -> None:
    """Says which framework is used, unless the user named it, and its version."""
    if choice.is_named:
        return
    package = package_of(choice.name)
    shown = choice.name
    if package is not None and not choice.elsewhere:
        shown = f"{shown} {package_version(package.name)}"
    mention = choice.mention
    why = mention.why if mention else f"the first installed of {', '.join(PREFERENCE)}"
    say(f"framework: {shown}, {why}; choose another with --framework")


def choose_framework(
    named: str,
    words: Iterable[str],
    interpreters: Sequence[Interpreter],
    requirements: Iterable[str] = (),
) -> FrameworkChoice:
    """Returns the named framework, or else the only one that words or requirements mention, or else
    the preferred one that is installed or named with an interpreter. Raises `FrameworkError`."""
    if named:
        return FrameworkChoice(named, True, bool(interpreters), None)
    mention = mentioned_among(words, requirements)
    name = mention.framework if mention else default_framework([i.framework for i in interpreters])
    return FrameworkChoice(name, False, bool(interpreters), mention)
