"""Values of a bench as their types: a value of another type is an error with its place.

The words of command lines, from the key `argv`, and those of servers and their clients, from
the keys `server` and `client`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from opperf.errors import UsageError, suggest
from opperf.suites.bench import Location, Server
from opperf.suites.reading import Node, kind_of

T = TypeVar("T")

DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|min|m|h|d)?\s*")

SECONDS = {None: 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

MISSPELT = 0.8
"""Similarity, by `difflib`, from which an unknown key is one that is misspelt: `wieght`."""


def wrong(node: Node, expected: str) -> UsageError:
    """The error for a value that is not what is expected."""
    return UsageError(f"{node.at}: {expected} is expected, and this is {kind_of(node)}")


def text(node: Node) -> str:
    """Returns a text, or a number as one."""
    if isinstance(node.content, bool) or not isinstance(node.content, (str, int, float)):
        raise wrong(node, "text")
    return str(node.content)


def texts(node: Node) -> tuple[str, ...]:
    """Returns the texts of a list, or of the only one; none of an empty value."""
    if node.content is None:
        return ()
    return tuple(map(text, node.listed()))


def flag(node: Node) -> bool:
    """Returns a truth value."""
    if not isinstance(node.content, bool):
        raise wrong(node, "true or false")
    return node.content


def number(node: Node) -> float:
    """Returns a number of at least 0."""
    content = node.content
    if isinstance(content, str):
        # YAML takes 1e-3 for a text.
        try:
            content = float(content)
        except ValueError:
            content = None
    if isinstance(content, bool) or not isinstance(content, (int, float)):
        raise wrong(node, "a number")
    if not 0 <= content < math.inf:
        raise wrong(node, "a finite number of at least 0")
    return float(content)


def count(node: Node) -> int:
    """Returns an integer of at least 1."""
    return integer(node, 1)


def integer(node: Node, least: int = 0) -> int:
    """Returns an integer of at least 0, or of another one."""
    if isinstance(node.content, bool) or not isinstance(node.content, int) or node.content < least:
        raise wrong(node, f"an integer of at least {least}")
    return node.content


def share(node: Node) -> float | None:
    """Returns a number from 0 to 1; None of an empty value."""
    if node.content is None:
        return None
    found = number(node)
    if found > 1:
        raise wrong(node, "a share from 0 to 1")
    return found


def seconds(node: Node) -> float | None:
    """Returns a duration in seconds, of a number or of a text like `90s`, `10min` or `1.5h`; None
    of an empty value."""
    content = node.content
    if content is None or content == math.inf:
        return None
    if isinstance(content, str):
        match = DURATION.fullmatch(content)
        content = float(match[1]) * SECONDS[match[2]] if match else None
    if isinstance(content, bool) or not isinstance(content, (int, float)) or not content > 0:
        raise wrong(node, "a duration above 0 (600, 90s, 10min, 1.5h)")
    return float(content)


def mapping(node: Node) -> dict[str, Node]:
    """Returns the values of a mapping; none of an empty value."""
    if node.content is None:
        return {}
    if not isinstance(node.content, dict):
        raise wrong(node, "a mapping")
    return node.content


def check_keys(entries: Mapping[str, Node], known: Iterable[str]) -> None:
    """Raises `UsageError` for a key that is not known."""
    listed = list(known)
    for key, node in entries.items():
        if key not in listed:
            raise UsageError(
                f"{node.at}: unknown key {key}{suggest(key, listed)}; known: {', '.join(listed)}"
            )


def check_spelling(entries: Mapping[str, Node], known: Iterable[str]) -> None:
    """Raises `UsageError` for a key that misspells a known one. Others are a program's own."""
    listed = list(known)
    for key, node in entries.items():
        near = () if key in listed else difflib.get_close_matches(key, listed, 1, MISSPELT)
        for other in near:
            raise UsageError(f"{node.at}: unknown key {key}; did you mean {other}?")


def read(entries: Mapping[str, Node], key: str, reader: Callable[[Node], T], default: T) -> T:
    """Returns a key's value by its reader, and the default without the key."""
    return reader(entries[key]) if key in entries else default


def inner(entries: Mapping[str, Node], key: str) -> dict[str, Node]:
    """Returns the values of the mapping of a key; none without the key."""
    return mapping(entries[key]) if key in entries else {}


def plain(entries: Mapping[str, Node], without: Iterable[str]) -> dict[str, Any]:
    """Returns the values of the other keys, without places."""
    used = set(without)
    return {key: node.plain() for key, node in entries.items() if key not in used}


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
            listed = value.listed()
            tail += [replace(_text(element), element.at) for element in listed]
            continue
        own = [replace(word, value.at) for word in _option(key, value)]
        (options if key.startswith("-") else positional).extend(own)
    return (*positional, *options, *tail)


def _option(key: str, value: Node) -> Iterator[str]:
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


KEYS = {"server": ("argv", "command", "port", "health"), "client": ("argv",)}

MOST_PORT = 65535
"""Of TCP."""


SERVER_ADDRESS = ("server_host", "server_port")
"""Placeholders of a server's address, which is known when it is started."""


def address_values(entries: Mapping[str, Node]) -> dict[str, str]:
    """Returns the placeholders of the address of a bench's server, which stay as they are; none of
    a bench without one that opperf starts."""
    command = inner(entries, "server").get("command")
    has_server = command is not None and bool(command.content)
    return {name: f"{{{name}}}" for name in SERVER_ADDRESS} if has_server else {}


def arguments_of(entries: Mapping[str, Node], key: str) -> Node | None:
    """Returns the arguments of a bench's client or server."""
    found = inner(entries, key)
    check_spelling(found, KEYS[key])
    return found.get("argv")


def _port(node: Node) -> int:
    """Returns a port, which is text where a matrix gives it."""
    text_of = node.content if isinstance(node.content, str) else ""
    return count(Node(int(text_of), node.at) if text_of.isdecimal() else node)


def read_server(entries: Mapping[str, Node], replace: Replace) -> Server | None:
    """Returns the server that is started before a script; None without its command."""
    found = inner(entries, "server")
    check_spelling(found, KEYS["server"])
    command = words_of(found.get("command"), replace)
    port = read(found, "port", _port, 0)
    if not command:
        for key in ("port", "health"):
            if key in found:
                raise UsageError(
                    f"{found[key].at}: {key} is of a server that opperf starts; give it a command, "
                    "such as [python, serve.py]"
                )
        return None
    if not port and read(entries, "num_machines", count, 1) > 1:
        raise UsageError(
            f"{entries['server'].at}: clients on several machines need the server's port; give it "
            "one, port: 8000"
        )
    if port > MOST_PORT:
        raise UsageError(f"{found['port'].at}: a port is at most {MOST_PORT}, and this is {port}")
    health = read(found, "health", text, "")
    if health and not health.startswith("/"):
        raise UsageError(f"{found['health'].at}: health is a path, such as /health")
    return Server(command, port, health)
