"""The words of a command line, from the key `argv`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opperf.errors import UsageError
from opperf.suites.bench import Location
from opperf.suites.nodes import Node, kind_of

TAIL = "--"
"""Key of words that come last."""

Replace = Callable[[str, Location], str]


def words_of(node: Node | None, replace: Replace) -> tuple[str, ...]:
    """Returns the words of a list as they are; of a mapping keys without hyphen first, then options
    with their values, then the words of `--`. `replace` gives a word with its placeholders
    replaced. Raises `UsageError` for false, and for mappings in it."""
    if node is None or node.content is None:
        return ()
    if isinstance(node.content, list):
        words = (_text(element) for element in node.content if element.content is not None)
        return tuple(replace(word, node.at) for word in words)
    if isinstance(node.content, str):
        raise UsageError(
            f"{node.at}: arguments are a list, or a mapping of options to values; write "
            f"[{', '.join(node.content.split())}]"
        )
    if not isinstance(node.content, dict):
        raise UsageError(
            f"{node.at}: arguments are a list, or a mapping, and this is {kind_of(node)}"
        )
    positional: list[str] = []
    options: list[str] = []
    tail: list[str] = []
    for key, value in node.content.items():
        if value.content is None:
            continue
        if key == TAIL:
            listed = value.elements() if isinstance(value.content, list) else [value]
            tail += [replace(_text(element), element.at) for element in listed]
            continue
        own = [replace(word, value.at) for word in _option(key, value)]
        (options if key.startswith("-") else positional).extend(own)
    return (*positional, *options, *tail)


def _option(key: str, value: Node) -> Iterator[str]:
    """Yields the words of an option."""
    yield key
    if value.content is True:
        return
    if value.content is False:
        raise UsageError(
            f"{value.at}: an option is not false; write null to omit it, or 'false' for the word"
        )
    if isinstance(value.content, list):
        yield ",".join(map(_text, value.content))
    else:
        yield _text(value)


def _text(node: Node) -> str:
    if isinstance(node.content, (dict, list)):
        raise UsageError(
            f"{node.at}: an argument is a word or a number, and this is {kind_of(node)}"
        )
    return str(node.content)
