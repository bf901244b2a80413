"""The words of the command lines of a bench that is a script."""

from __future__ import annotations

from opperf.model import NodeWords
from opperf.suites.bench import Bench


def words_of(bench: Bench) -> NodeWords:
    """Returns the words of a script's command lines, and the variables of its bench. One that has
    arguments of a server and no command of it starts that itself, as milabench's do: it has those
    of the server, `--`, and those of the client."""
    if bench.server is None and bench.server_argv:
        return NodeWords(
            (*bench.argv, *bench.server_argv, "--", *bench.client_argv), (), bench.env.variables
        )
    server = () if bench.server is None else (*bench.server.command, *bench.server_argv)
    return NodeWords((*bench.argv, *bench.client_argv), server, bench.env.variables)
