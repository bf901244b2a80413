"""The server of a dashboard: it reads, and writes nothing."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opperf.errors import UsageError, one_line, suggest
from opperf.history.store.opening import Store, StoreError
from opperf.serving.assets import ASSETS, SERVED, policy_of, served_page
from opperf.serving.queries import Missing, Queries
from opperf.serving.routes import ROUTES, SHOWN, Route, openapi
from opperf.serving.values import Problem

HEADERS = {
    "content-security-policy": policy_of("served"),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

THREADS = 4
"""Most answers that are made at once: each has a connection to the store."""

COOKIE = "opperf_token"

TOKEN = "token"
"""Parameter of the first address that a browser opens, which then has a cookie."""

LEAST_ZIPPED = 1000
"""Bytes below which compression gains nothing."""

HOSTS = ("127.0.0.1", "localhost", "[::1]", "::1")
"""Names of this machine: others may be of a page elsewhere that had its name point here."""


def make_application(store: Store, token: str = "", hosts: tuple[str, ...] = HOSTS) -> Hardened:
    """Returns the application of a store; with a token, of requests that have it alone. `hosts` are
    the names under which it is asked, `*` for any."""
    queries = Queries(store)
    document = msgspec.json.encode(openapi())

    async def describe(request: Request) -> Response:
        return Response(document, media_type="application/json")

    files = {
        "": (served_page(), "text/html"),
        **{name: (asset.read(), asset.kind) for name, asset in (ASSETS | SERVED).items()},
    }
    # No path of a request is one of this machine.
    routes = [Path(f"/{name}", _serve(*file), methods=["GET"]) for name, file in files.items()]
    routes.append(Path("/openapi.json", describe, methods=["GET"]))
    routes += [Path(route.path, _answer(route, queries), methods=["GET"]) for route in ROUTES]
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        *([Middleware(WithToken, token=token)] if token else []),
        Middleware(GZipMiddleware, minimum_size=LEAST_ZIPPED),
    ]
    # Outside of all, so that answers of errors have the headers too.
    return Hardened(
        Starlette(
            routes=routes,
            middleware=middleware,
            exception_handlers={status: _say(status, *said) for status, said in SAID.items()},
            lifespan=_with_few_threads,
        )
    )


@asynccontextmanager
async def _with_few_threads(app: Starlette) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = THREADS
    yield


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(value), status, media_type="application/json", headers=headers
    )


def _problem(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return _json(Problem(error=message), status, headers)


SAID: dict[int, tuple[str, dict[str, str]]] = {
    404: ("nothing is here; /openapi.json lists what is", {}),
    405: ("this server only reads: GET", {"allow": "GET, HEAD"}),
    500: ("the server failed; what it printed says why", {}),
}
"""Answers of no route, with headers, by status."""


def _say(status: int, message: str, headers: dict[str, str]) -> Any:
    async def say(request: Request, error: Exception) -> Response:
        return _problem(status, message, headers)

    return say


def _serve(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8")

    return serve


def _answer(route: Route, queries: Queries) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            values = _read_parameters(route, request)
            found = await run_in_threadpool(route.query, queries, **values)
        except UsageError as error:
            return _problem(400, str(error))
        except Missing as error:
            return _problem(404, str(error))
        except StoreError as error:
            return _problem(503, str(error))
        return _json(found)

    return answer


def _read_parameters(route: Route, request: Request) -> dict[str, Any]:
    """Returns the values of the parameters. Raises `UsageError` for a wrong or unknown one."""
    known = {parameter.name: parameter for parameter in route.parameters}
    given = {**dict(request.query_params.items()), **request.path_params}
    for name in request.query_params:
        if name not in known or known[name].default is None:
            raise UsageError(
                f"there is no parameter {one_line(name, SHOWN)!r}{suggest(name, known)}"
            )
        if len(request.query_params.getlist(name)) > 1:
            raise UsageError(f"{name} is given several times")
    return {
        name: parameter.read(given[name]) if name in given else parameter.default
        for name, parameter in known.items()
    }


class Hardened:
    """Adds the headers of `HEADERS` to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self.app(scope, receive, send_hardened)


class WithToken:
    """Lets requests through that have the token, as a bearer's or in the cookie."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if self._is_right(request.query_params.get(TOKEN, "")) and request.url.path == "/":
            redirect = RedirectResponse("/", 303)
            redirect.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            response: ASGIApp = redirect
        elif (scheme.lower() == "bearer" and self._is_right(bearer.strip())) or self._is_right(
            request.cookies.get(COOKIE, "")
        ):
            response = self.app
        else:
            response = _problem(
                401,
                "this server wants its token: Authorization: Bearer TOKEN, or open /?token=TOKEN",
                {"www-authenticate": "Bearer"},
            )
        await response(scope, receive, send)

    def _is_right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())
