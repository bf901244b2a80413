"""The framework of a command, which one that names none has of the names and files it mentions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from opperf.environments.specification import BETWEEN
from opperf.errors import FrameworkError
from opperf.frameworks import PREFERENCE, available, default_framework, is_available, package_of
from opperf.frameworks.installed import package_version
from opperf.model import Interpreter, Settings
from opperf.reading import WRITTEN_BY_HAND, read_bytes

FILE = re.compile(r"(?P<file>.+\.py)(:.*)?")
"""A user's file, with or without what is meant in it."""

NUMPY = "numpy"


class Mention(NamedTuple):
    """A framework, and by what it is chosen."""

    framework: str
    why: str


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
    for requirement in chain.from_iterable(map(BETWEEN.split, requirements)):
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
    words: Iterable[str] = (),
    settings: Settings | None = None,
    interpreters: Sequence[Interpreter] = (),
    requirements: Iterable[str] = (),
) -> FrameworkChoice:
    """Returns the named framework, or else the only one that words, the files of settings or
    requirements mention, or else the preferred one that is installed or named with an interpreter.
    Raises `FrameworkError`."""
    mention = None
    if not named:
        own = () if settings is None else (settings.input_function, *settings.imports)
        mention = mentioned_among((*words, *own), requirements)
    preferred = mention.framework if mention else ""
    name = named or preferred or default_framework([each.framework for each in interpreters])
    return FrameworkChoice(name, bool(named), bool(interpreters), mention)
