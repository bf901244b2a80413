"""Explains an unknown word: an operator of another framework, or a command that there is not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence

from opperf.errors import FrameworkError
from opperf.frameworks import BUILT_IN, PREFERENCE, default_framework, is_available, package_of
from opperf.near_names import parse
from opperf.rules.engine import rules_module

QUOTED = re.compile(r"'([^'\s]+)'")

COMMAND = re.compile(r"[a-z]+(-[a-z]+)*")
"""A word as commands are: `simulate`, and not `conv2d`, `broadcast_add` or `nd.add`."""

SIMILARITY = 0.75
"""Minimum similarity of a misspelt command, by `difflib`: that of `lsit` and `list`."""


def explain_operator(words: Sequence[str], message: str) -> str:
    """Returns the message about a name that no operator has, with the frameworks that have it."""
    quoted = QUOTED.search(message)
    name = quoted[1] if quoted else ""
    given = [part for word in words for part in word.split(",")]
    having = _elsewhere(name, _framework_of(words)) if name in given else {}
    if not having:
        return message
    what, _, near = message.partition("; ")
    # Names that are only similar are not meant.
    if any(parse(name).joined in parse(word).joined for word in near.split()):
        what = message
    places = (
        f"{framework}{'' if known == name else f' as {known}'} ({_how(framework)})"
        for framework, known in having.items()
    )
    return f"{what}{' It' if what.endswith('?') else '; it'} is in {', '.join(places)}"


def _framework_of(words: Sequence[str]) -> str:
    for place, word in enumerate(words):
        option, _, value = word.partition("=")
        if option == "--framework":
            return value or "".join(words[place + 1 : place + 2])
    try:
        return default_framework()
    except FrameworkError:
        return ""


def _elsewhere(name: str, framework: str) -> dict[str, str]:
    """Returns the other frameworks with an operator of this name, each with its name there."""
    return {
        other: known
        for other in sorted(PREFERENCE, key=is_available, reverse=True)
        if other != framework and (known := _name_in(other, name))
    }


def _name_in(framework: str, name: str) -> str:
    """Returns a framework's name of an operator that is called so, with or without what is before
    its last point; empty if its table has none. It need not be installed."""
    if framework not in BUILT_IN:
        return ""
    table = rules_module(f"opperf.rules.{framework}").OPERATIONS
    wanted = name.casefold().rpartition(".")[2]
    if framework in OVERLOADED:
        names = [known.partition(".")[0] for known in table]
        return next((known for known in names if known.casefold() == wanted), "")
    names = [known for known in table if known.casefold().rpartition(".")[2] == wanted]
    return min(names, key=len, default="")


OVERLOADED = ("torch",)
"""Frameworks whose names have an overload after the point, and not a place before it."""


def _how(framework: str) -> str:
    package = package_of(framework)
    if is_available(framework) or package is None:
        return f"--framework {framework}"
    return f"install it with: {package.install_advice()}"


def is_meant_as_command(word: str, commands: Collection[str], message: str) -> bool:
    """Returns whether the first word of a command line looks like a command, is none, and is no
    operator of any framework, nor misspells one that the message suggests."""
    suggested = re.split(r"\W+", message.partition("did you mean ")[2])
    return (
        COMMAND.fullmatch(word) is not None
        and word not in commands
        and not any(sorted(name) == sorted(word) for name in suggested)
        and not any(_name_in(framework, word) for framework in PREFERENCE)
    )


def misspelt_command(word: str, commands: Collection[str]) -> str:
    """Returns the command that a word misspells; else an empty text."""
    return "".join(difflib.get_close_matches(word, commands, n=1, cutoff=SIMILARITY))
