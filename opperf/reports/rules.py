"""The places that made operators' cases as text, Markdown, CSV and values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opperf.model import RuleUse
from opperf.plurals import pluralize
from opperf.reports.fields import (
    LABEL,
    LONG_NAME,
    NUMBER,
    TEXT,
    Field,
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.model import Report, Section

SHOWN_DIGITS = 8
"""Of an id in a table: `--id` takes the beginning of one."""

MOST_IDS = 3
"""Ids in a row of a table, which the places of rows have; families have the number alone."""


def _place(use: RuleUse) -> str:
    file, here = Path(use.place.file), Path.cwd()
    return f"{file.relative_to(here) if file.is_relative_to(here) else file}:{use.place.line}"


def _ids(use: RuleUse) -> str:
    few = use.cases[: MOST_IDS + 1]
    return " ".join(id[:SHOWN_DIGITS] for id in few) if len(few) <= MOST_IDS else ""


def _tags(use: RuleUse) -> str:
    return ", ".join(use.place.tags)


FIELDS: tuple[Field[RuleUse], ...] = (
    Field("operator", "Operator", LABEL, lambda use: use.operator),
    Field("layer", "Layer", LABEL, lambda use: use.place.layer),
    Field("place", "Place", LONG_NAME, _place),
    Field("number", "Cases", NUMBER, lambda use: len(use.cases)),
    Field("cases", "Ids", TEXT, lambda use: list(use.cases), _ids, extra=1),
    Field("text", "What", TEXT, lambda use: use.place.text),
    Field("tags", "Tags", TEXT, lambda use: list(use.place.tags), _tags, is_optional=True),
)
"""Columns of the places; a table has the ids of few cases."""


def rules_report(command: str, uses: Sequence[RuleUse], reason: str = "") -> Report:
    """Returns a row for each place; `reason` is why an operator has none."""
    cases = len({id for use in uses for id in use.cases})
    closing = f"{pluralize(len(uses), 'place')}, {pluralize(cases, 'case')}"
    return Report(
        command,
        "",
        (
            Section(table=table_of(FIELDS, uses, is_ranked=True)),
            Section(prose=[f"{closing}: {reason}" if reason else closing]),
        ),
        objects_of(FIELDS, uses),
        *rows_of(FIELDS, uses),
    )
