"""Lists and deletes the runs that opperf keeps, and serves a history."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from opperf.errors import UsageError
from opperf.extras import load_extra
from opperf.reading import read_text
from opperf.requests.declaring import Option, Request, Say, argument
from opperf.requests.operators import Store
from opperf.requests.outputs import JsonRequest
from opperf.requests.parsers import parse_labels, parse_moment, split_commas
from opperf.results.kept import is_name, remove, resolve

if TYPE_CHECKING:
    from opperf.reports.kept_runs import KeptFacts


class RunsRequest(JsonRequest, frozen=True, kw_only=True):
    """Finds the runs and sessions that opperf keeps, and deletes them if asked."""

    names: Annotated[tuple[str, ...], argument("[OPERATOR|@RUN]...", gather=split_commas)] = ()
    kind: Annotated[
        Literal["run", "ab"] | None, Option("Only runs, or only sessions of `opperf ab`.")
    ] = None
    framework: Annotated[
        str | None,
        Option(
            "Only runs with cases of this framework; a name or glob.", str.lower, metavar="NAME"
        ),
    ] = None
    labels: Annotated[
        Mapping[str, str],
        Option(
            "Only runs with this label, as `opperf run --label` set it; the value may be a glob.",
            gather=parse_labels,
            metavar="KEY=VALUE",
            spellings="--label",
        ),
    ] = {}
    since: Annotated[
        datetime | None,
        Option(
            "Only runs since then: 2026-01-31, 2026-01-31T12:30, or 3d, 12h, 30m for days, hours "
            "and minutes ago.",
            parse_moment,
            metavar="DATE",
        ),
    ] = None
    until: Annotated[
        datetime | None, Option("Only runs until then, likewise.", parse_moment, metavar="DATE")
    ] = None
    unfinished: Annotated[bool, Option("Only runs that were not finished.")] = False
    delete: Annotated[bool, Option("Delete the runs that are found, with --all every one.")] = False
    everything: Annotated[
        bool, Option("With --delete alone: all kept runs.", spellings="--all")
    ] = False

    def run(self, say: Say) -> list[KeptFacts]:
        """Returns the runs that are chosen, the latest first; with `delete` those that are
        deleted."""
        from opperf.plurals import pluralize
        from opperf.reports.kept_runs import read_kept

        restrictions = (self.kind, self.framework, self.labels, self.since, self.until)
        chooses = any((*restrictions, self.names, self.unfinished))
        if self.everything and (chooses or not self.delete):
            raise UsageError("--all is for --delete without a choice of runs")
        if self.delete and not (chooses or self.everything):
            raise UsageError("--delete needs a choice of runs, e.g. @ID or --until 30d, or --all")
        self.check_outputs()
        found = list(filter(self._has, read_kept()))
        if not self.delete:
            return found
        deleted = [entry for entry in found if not entry.run.is_being_written]
        for entry in deleted:
            remove(entry.run.path)
        left = len(found) - len(deleted)
        if left:
            say(f"{pluralize(left, 'run')} in progress stay")
        return deleted

    def _has(self, found: KeptFacts) -> bool:
        facts = found.facts
        return (
            _is_named(found, self.names)
            and self.kind in (None, facts.kind)
            and (
                self.framework is None
                or any(fnmatchcase(name, self.framework) for name in facts.frameworks)
            )
            and all(
                fnmatchcase(facts.labels.get(key, ""), value) and key in facts.labels
                for key, value in self.labels.items()
            )
            and (self.since is None or self.since <= found.run.time)
            and (self.until is None or found.run.time <= self.until)
            and not (self.unfinished and facts.is_finished)
        )


def _is_named(found: KeptFacts, names: Sequence[str]) -> bool:
    from opperf.sources.selecting import as_operator, find_matching

    if not names:
        return True
    runs = [resolve(name) for name in names if is_name(name)]
    operators = [as_operator(case) for case in found.facts.cases]
    return found.run.path in runs or any(
        find_matching(name, operators) for name in names if not is_name(name)
    )


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses of this machine that no other reaches."""

PORT = 8765
"""The default port, which no widespread service has."""

LEAST_TOKEN = 16
"""Characters of a token that cannot be guessed."""

GRACE_S = 2
"""Seconds that answers under way have at the end: they take far less."""


class ServeRequest(Request, frozen=True, kw_only=True):
    """Serves a dashboard of a history until it is interrupted."""

    store: Store = ""
    host: Annotated[
        str,
        Option(
            "Address to listen at; any but that of this machine alone needs a token.",
            metavar="ADDRESS",
        ),
    ] = LOOPBACK[0]
    port: Annotated[int, Option("0 for a free one.", low=0, high=65535, metavar="NUMBER")] = PORT
    token_file: Annotated[
        Path | None,
        Option(
            "File with the token that every request has to have, of at least 16 characters.  "
            "[default: the environment variable OPPERF_TOKEN]"
        ),
    ] = None
    names: Annotated[
        tuple[str, ...],
        Option(
            "Name under which the server is asked, as perf.example.org; repeat it for several.  "
            "[default: with a token any]",
            metavar="HOST",
            spellings="--name",
        ),
    ] = ()

    def run(self, say: Say) -> None:
        from opperf.history.store.opening import Store as Opened
        from opperf.history.store.opening import default_store

        token = self._token()
        uvicorn = load_extra("uvicorn")
        load_extra("starlette")
        with Opened(self.store or default_store(), must_exist=True) as opened:
            from opperf.serving.application import HOSTS, make_application
            from opperf.serving.connections import limited, limits_of_process

            limits = limits_of_process()
            hosts = self.names or (("*",) if token else HOSTS)
            application = make_application(opened, token, tuple(hosts))
            with self._listen() as listening:
                shown = f"[{self.host}]" if ":" in self.host else self.host
                say(f"http://{shown}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
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

    def _token(self) -> str:
        token = os.environ.get("OPPERF_TOKEN", "")
        if self.token_file is not None:
            token = _read_token(self.token_file)
        if token and len(token) < LEAST_TOKEN:
            raise UsageError(f"the token has fewer than {LEAST_TOKEN} characters")
        if not (token.isascii() and token.isprintable()):
            raise UsageError(
                "the token has a character that no header can have; use letters, digits"
            )
        if self.host not in LOOPBACK and not token:
            raise UsageError(
                f"--host {self.host} is reached by others: name a file with a token by --token-file"
            )
        return token

    def _listen(self) -> socket.socket:
        listening = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((self.host, self.port))
            # Whoever opens the address at once then waits, and is not refused.
            listening.listen()
        except OSError as error:
            listening.close()
            raise UsageError(f"--host {self.host} --port {self.port}: {error.strerror}") from error
        return listening


def _read_token(file: Path) -> str:
    try:
        return read_text(file).strip()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"--token-file {file} is no text in UTF-8: byte {error.start} is wrong; write the "
            "token alone in it"
        ) from error
    except OSError as error:
        raise UsageError(f"--token-file {file} cannot be read: {error.strerror}") from error
