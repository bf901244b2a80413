"""Writes what the columns of comparisons are from their declaration: the table in docs/reports.md,
and the JSON Schema of a row.

    python tools/document_columns.py
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opperf.comparison.compared import Comparison, Side
from opperf.comparison.sections import columns_of
from opperf.reports.fields import Field

DOCS = Path(__file__).resolve().parents[1] / "docs"

PAGE, SCHEMA = DOCS / "reports.md", DOCS / "comparison-row.schema.json"

BEGIN, END = "<!-- columns of comparisons -->\n", "<!-- end of columns -->"
"""Marks around the table in that page."""


def schema_of(fields: Iterable[Field[Any]]) -> dict[str, Any]:
    """Returns the JSON Schema of objects of these fields."""
    written = {field.key: field for field in fields if field.key}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            key: {"title": " ".join((field.title or key).split()), "type": _types(field)}
            for key, field in written.items()
        },
        "required": list(written),
        "additionalProperties": False,
    }


def _types(field: Field[Any]) -> list[str]:
    is_number = field.kind.is_number or field.kind.unit is not None
    return ["number", "null"] if is_number else ["string", "null"]


def documentation_of(fields: Iterable[Field[Any]]) -> str:
    """Returns a table in Markdown of the keys of these fields, and of their titles in tables."""
    rows = "".join(
        f"| `{field.key}` | {' '.join((field.title or '').split())} | {_types(field)[0]} |\n"
        for field in fields
        if field.key
    )
    return f"| key | title in tables | type |\n| --- | --- | --- |\n{rows}"


def documents() -> dict[Path, str]:
    """Returns the texts of both files."""
    fields = columns_of(Comparison("compare", (Side("base"), Side("new")), 0.0))
    marked = f"{re.escape(BEGIN)}.*?{re.escape(END)}"
    table = BEGIN + documentation_of(fields) + END
    page = re.sub(marked, lambda _: table, PAGE.read_text("utf-8"), flags=re.DOTALL)
    return {PAGE: page, SCHEMA: json.dumps(schema_of(fields), indent=2) + "\n"}


def main() -> int:
    for path, text in documents().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
