"""Servers of benches, and their clients, from the keys `server` and `client`."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.errors import UsageError
from opperf.suites.arguments import Replace, words_of
from opperf.suites.bench import Server
from opperf.suites.fields import check_spelling, count, inner, read, text
from opperf.suites.nodes import Node

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
