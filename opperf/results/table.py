"""Records as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from tabulate import tabulate

from opperf.errors import one_line
from opperf.model import Record, Status
from opperf.results.metrics import shown_kb, shown_ms
from opperf.results.text import inputs_text

INPUTS_WIDTH = 60
"""Characters of the inputs that are shown: the figures then fit beside them."""

STATUS_WIDTH = 50


def render_table(records: Iterable[Record]) -> str:
    """The records in their order; how one ended is said where it is not ok."""
    rows = [
        (
            record.case.label,
            one_line(inputs_text(record.case), INPUTS_WIDTH),
            shown_kb(record),
            shown_ms(record, "forward", "mean"),
            shown_ms(record, "backward", "mean"),
            _status(record),
        )
        for record in records
    ]
    titles = ("Operator", "Inputs", "Mem kB", "Fwd ms", "Bwd ms", "Status")
    columns = len(titles) if any(row[-1] for row in rows) else len(titles) - 1
    align = ("left", "left", "right", "right", "right", "left")
    text: str = tabulate(
        [row[:columns] for row in rows],
        headers=titles[:columns],
        tablefmt="simple",
        disable_numparse=True,
        colalign=align[:columns] if rows else None,
    )
    return text


def _status(record: Record) -> str:
    if record.status is Status.OK:
        return ""
    return one_line(f"{record.status.value}: {record.reason}", STATUS_WIDTH)
