"""The command `serve`."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import store
from opperf.parameters import debug

LOOPBACK = ("127.0.0.1", "localhost", "::1")

LEAST_TOKEN = 16
"""Characters of a token that cannot be guessed."""

GRACE_S = 2
"""Seconds that answers under way have at the end: they take far less."""


@command(
    examples={
        "This machine's history, in a browser of this machine": "opperf serve",
        "A team's history, on the network, behind a token": (
            "opperf serve --store postgresql://perf@db.example.org/perf --host 0.0.0.0 "
            "--token-file token.txt"
        ),
    }
)
@store
@click.option(
    "--host",
    default=LOOPBACK[0],
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen at; any but that of this machine alone needs a token.",
)
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="0 for a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="File with the token that every request has to have, of at least 16 characters.  "
    "[default: the environment variable OPPERF_TOKEN]",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="Name under which the server is asked, as perf.example.org; repeat it for several.  "
    "[default: with a token any]",
)
@debug
@click.pass_context
def serve(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Serve a dashboard of a history: changes with their states, series with their charts and the
    commands that measure them again, runs; and a JSON API, described at /openapi.json. It only
    reads."""
    ctx.exit(_serve(**options))


def _serve(
    store: str | None, host: str, port: int, token_file: str | None, names: tuple[str, ...]
) -> int:
    # Help and completion do without the imports.
    import os
    import socket

    from opperf.errors import UsageError
    from opperf.extras import load_extra
    from opperf.history.store.opening import Store, default_store
    from opperf.results.messages import tell

    token = os.environ.get("OPPERF_TOKEN", "")
    if token_file is not None:
        token = _token_of(token_file)
    if token and len(token) < LEAST_TOKEN:
        raise UsageError(f"the token has fewer than {LEAST_TOKEN} characters")
    if not (token.isascii() and token.isprintable()):
        raise UsageError("the token has a character that no header can have; use letters, digits")
    if host not in LOOPBACK and not token:
        raise UsageError(
            f"--host {host} is reached by others: name a file with a token by --token-file"
        )
    uvicorn = load_extra("uvicorn")
    load_extra("starlette")
    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.serving.application import HOSTS, make_application
        from opperf.serving.connections import limited, limits_of_process

        limits = limits_of_process()

        hosts = names or (("*",) if token else HOSTS)
        application = make_application(opened, token, tuple(hosts))
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listening.bind((host, port))
                # Whoever opens the address at once then waits, and is not refused.
                listening.listen()
            except OSError as error:
                raise UsageError(f"--host {host} --port {port}: {error.strerror}") from error
            shown = f"[{host}]" if ":" in host else host
            tell(f"http://{shown}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
            config = uvicorn.Config(
                application,
                log_level="warning",
                server_header=False,
                http=limited(limits.connections),
                ws="none",
                backlog=limits.backlog,
                # A browser keeps its connection open.
                timeout_graceful_shutdown=GRACE_S,
            )
            uvicorn.Server(config).run(sockets=[listening])
    return 0


def _token_of(file: str) -> str:
    """Returns the token of a file. Raises `UsageError` for one that is no text."""
    from opperf.errors import UsageError
    from opperf.reading import read_text

    try:
        return read_text(file).strip()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"--token-file {file} is no text in UTF-8: byte {error.start} is wrong; write the "
            "token alone in it"
        ) from error
