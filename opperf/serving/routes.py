"""The routes of the API: parameters, answers, and the OpenAPI document, from one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

import opperf
from opperf.decoding import JsonObject
from opperf.errors import UsageError, one_line, suggest
from opperf.history.events import State
from opperf.history.model import StoredEnvironment
from opperf.serving import values
from opperf.serving.queries import Queries
from opperf.serving.values import Items, Page

LIMIT = 1000
"""Most items of a page: some hundred kilobytes."""

SHOWN = 60
"""Most characters of a wrong value that the answer has."""

LARGEST = 2**31 - 1
"""Largest number of a row or of an offset that every database takes."""


class Parameter(NamedTuple):
    """A parameter of a route, in its path or in the query."""

    name: str
    description: str
    kind: type = str
    default: Any = ""
    """None of one in the path, which is required."""
    least: int = 0
    most: int = LARGEST
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> Any:
        """Returns the value of a text. Raises `UsageError` for a wrong one."""
        shown = one_line(text, SHOWN)
        if self.kind is str:
            if self.choices and text not in self.choices:
                raise UsageError(
                    f"{self.name}: {shown!r}{suggest(shown, self.choices)}; "
                    f"known: {', '.join(self.choices)}"
                )
            return text
        # Python reads no number of thousands of digits.
        digits = text.lstrip("0") or text[:1]
        is_number = text.isascii() and text.isdecimal() and len(digits) <= len(str(self.most))
        if not is_number or not self.least <= int(digits) <= self.most:
            raise UsageError(
                f"{self.name}: {shown!r} is no number from {self.least} to {self.most}"
            )
        return int(digits)

    def schema(self) -> dict[str, Any]:
        if self.kind is int:
            found: dict[str, Any] = {"type": "integer", "minimum": self.least, "maximum": self.most}
        else:
            found = {"type": "string"}
            if self.choices:
                found["enum"] = list(self.choices)
        if self.default is not None:
            found["default"] = self.default
        return found


PROJECT = Parameter("project", "Name of a project.", default=None)
BRANCH = Parameter("branch", "Only of this branch.")
LIMITS = (
    Parameter("limit", "Most items.", int, 100, 1, LIMIT),
    Parameter("offset", "Items before the first one.", int, 0),
)


class Route(NamedTuple):
    """A route: what it answers, by a method of `Queries` that takes its parameters."""

    path: str
    summary: str
    answer: Any
    query: Callable[..., values.Answer]
    parameters: tuple[Parameter, ...] = ()
    has_missing: bool = True
    """Whether it may be of something that is not there."""


ROUTES = (
    Route(
        "/api/projects",
        "All projects.",
        Items[values.ProjectValue],
        Queries.projects,
        has_missing=False,
    ),
    Route(
        "/api/environments",
        "All environments.",
        Items[StoredEnvironment],
        Queries.environments,
        has_missing=False,
    ),
    Route(
        "/api/projects/{project}/runs",
        "Runs, the latest first.",
        Page[values.RunValue],
        Queries.runs,
        (PROJECT, BRANCH, *LIMITS),
    ),
    Route(
        "/api/projects/{project}/series",
        "Series with their latest figures.",
        Page[values.SeriesValue],
        Queries.series,
        (
            PROJECT,
            BRANCH,
            Parameter("text", "Words that name, inputs, category or metric have."),
            Parameter("category", "Only of this category."),
            Parameter("metric", "Only of this metric."),
            Parameter("environment", "Only of this environment."),
            *LIMITS,
        ),
    ),
    Route(
        "/api/projects/{project}/series/{number}",
        "A series with all of its points.",
        values.SeriesDetail,
        Queries.series_detail,
        (PROJECT, Parameter("number", "Number of a series.", int, None), BRANCH),
    ),
    Route(
        "/api/projects/{project}/events",
        "Changes, the latest first.",
        Page[values.EventValue],
        Queries.events,
        (
            PROJECT,
            BRANCH,
            Parameter(
                "state",
                "Only in this state; open: new or confirmed.",
                choices=("", "open", *(state.value for state in State)),
            ),
            *LIMITS,
        ),
    ),
    Route(
        "/api/projects/{project}/events/{number}",
        "A change with its states.",
        values.EventDetail,
        Queries.event_detail,
        (PROJECT, Parameter("number", "Number of an event.", int, None)),
    ),
)


def openapi() -> dict[str, Any]:
    """Returns the OpenAPI document of the routes."""
    types = [*(route.answer for route in ROUTES), values.Problem]
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    *found, problem = schemas
    _take_null(components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "opperf", "version": opperf.__version__},
        "paths": {
            route.path: {"get": _operation(route, schema, problem)}
            for route, schema in zip(ROUTES, found, strict=True)
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _take_null(schema: Any) -> None:
    """Lets each number of a schema be null, which stands for an unknown figure."""
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, (dict, list)):
            _take_null(part)
    if isinstance(schema, dict) and schema.get("type") == "number":
        schema["type"] = ["number", "null"]


def _operation(route: Route, schema: JsonObject, problem: JsonObject) -> JsonObject:
    def content(of: JsonObject) -> JsonObject:
        return {"content": {"application/json": {"schema": of}}}

    errors = {
        "400": "A parameter is wrong, or unknown.",
        "401": "The server wants a token.",
        **({"404": "It is not there."} if route.has_missing else {}),
        "503": "The store does not answer.",
    }
    return {
        "summary": route.summary,
        "parameters": [
            {
                "name": parameter.name,
                "in": "path" if parameter.default is None else "query",
                "required": parameter.default is None,
                "description": parameter.description,
                "schema": parameter.schema(),
            }
            for parameter in route.parameters
        ],
        "responses": {
            "200": {"description": route.summary, **content(schema)},
            **{code: {"description": text, **content(problem)} for code, text in errors.items()},
        },
    }
