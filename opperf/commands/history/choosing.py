"""The series that a command on a history is about: by operator, metric and environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from opperf.errors import UsageError, suggest
from opperf.model import Operator
from opperf.parameters import combine, names_option
from opperf.sources.selecting import make_matcher

if TYPE_CHECKING:
    from opperf.history.store.rows import StoredSeries

NUMBER = "#"
"""Beginning of a series' number, as tables print it."""

chosen_series = combine(
    click.argument("names", nargs=-1, metavar="[OPERATOR|#SERIES]..."),
    names_option("--metric", "metrics", help="Only these metrics, e.g. forward,memory."),
    click.option(
        "--environment",
        default="",
        metavar="KEY",
        help="Only this environment: its key, or the beginning of it.",
    ),
)


def choose(
    series: Sequence[StoredSeries],
    names: Sequence[str],
    metrics: Sequence[str] = (),
    environment: str = "",
) -> list[StoredSeries]:
    """Returns the series that are named, or all. Raises `UsageError` for a name, a metric or an
    environment that none has."""
    found = [stored for stored in series if stored.key.metric]
    for word, kept in (
        (environment, {stored.key.environment for stored in found}),
        *((metric, {stored.key.metric for stored in found}) for metric in metrics),
    ):
        if word and not any(key.startswith(word) for key in kept):
            raise UsageError(f"no series is of {word!r}{suggest(word, kept)}")
    found = [
        stored
        for stored in found
        if stored.key.environment.startswith(environment)
        and (not metrics or stored.key.metric in metrics)
    ]
    wanted: set[int] = set()
    operators = [Operator(framework="", namespace="", name=stored.facts.name) for stored in found]
    for name in names:
        if name.startswith(NUMBER):
            chosen = {stored.id for stored in found if f"{NUMBER}{stored.id}" == name}
        else:
            matches = make_matcher(name, operators)
            pairs = zip(found, operators, strict=True)
            chosen = {stored.id for stored, operator in pairs if matches(operator)}
        if not chosen:
            known = {stored.facts.name for stored in found}
            raise UsageError(f"no series is of {name!r}{suggest(name, known)}")
        wanted |= chosen
    return [stored for stored in found if not names or stored.id in wanted]
