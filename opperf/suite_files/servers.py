"""Servers of benches, and their clients, from the keys `server` and `client`."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.errors import UsageError
from opperf.suite_files.arguments import Replace, words_of
from opperf.suite_files.bench import Server
from opperf.suite_files.fields import check_spelling, count, inner, read, text
from opperf.suite_files.nodes import Node

SERVER_KEYS = ("argv", "command", "port", "health")

MOST_PORT = 65535
"""Of TCP."""


def arguments_of(entries: Mapping[str, Node], key: str) -> Node | None:
    """Returns the arguments of a bench's client or server."""
    found = inner(entries, key)
    check_spelling(found, SERVER_KEYS if key == "server" else ("argv",))
    return found.get("argv")


def read_server(entries: Mapping[str, Node], replace: Replace) -> Server | None:
    """Returns the server that is started before a script; None without its command."""
    found = inner(entries, "server")
    command = words_of(found.get("command"), replace)
    port = read(found, "port", count, 0)
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
