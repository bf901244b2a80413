"""The words of command lines, from the key `argv`, and those of servers and their clients, from
the keys `server` and `client`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from opperf.errors import UsageError
from opperf.suites.bench import Location, Server
from opperf.suites.fields import check_spelling, count, inner, read, text
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
            listed = value.listed()
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
