"""Writes what the columns of comparisons are from their declaration: the table in docs/reports.md,
and the JSON Schema of a row.

    python tools/document_columns.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from opperf.comparison.compared import Comparison, Side
from opperf.comparison.sections import columns_of
from opperf.reports.fields import documentation_of, schema_of

DOCS = Path(__file__).resolve().parents[1] / "docs"

PAGE, SCHEMA = DOCS / "reports.md", DOCS / "comparison-row.schema.json"

BEGIN, END = "<!-- columns of comparisons -->\n", "<!-- end of columns -->"
"""Marks around the table in that page."""


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
