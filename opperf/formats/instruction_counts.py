"""Results as PyTorch's suite of instruction counts writes them: one JSON object, whose values are
the times and the counts of each benchmark, of all repeats.

A benchmark is one pass of one case: `mm[self: (2, 3), mat2: (3, 4); torch] forward`. Times are in
seconds; both are for a single call.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from opperf.instruments.instructions import CALLGRIND
from opperf.model import PASSES, Run, Status
from opperf.results.figures import case_name, distinct_names

VERSION = 0
"""The version of the suite with this layout."""

NS_PER_S = 1e9

COUNTS = dict(zip(PASSES, (metric.name for metric in CALLGRIND.metrics), strict=False))
"""The metric with the counts of each pass, whose times have its own name."""


def instruction_counts_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the object of a run."""
    return json.dumps(instruction_counts(run), indent=2) + "\n"


def instruction_counts(run: Run) -> dict[str, Any]:
    """Returns the object of a run; `md5` is equal for runs of the same cases."""
    measured = [record for record in run.records if record.status is Status.OK]
    cases = " ".join(sorted(case.id for case in run.cases))
    names = distinct_names({record.id: case_name(record.case) for record in measured})
    return {
        "version": VERSION,
        "md5": hashlib.md5(cases.encode(), usedforsecurity=False).hexdigest(),
        "start_time": _seconds(run.header.started),
        "end_time": None if run.closing is None else _seconds(run.closing.finished),
        "values": {
            f"{names[record.id]} {label}": {
                "times": [time / NS_PER_S for time in _finite(record.samples.get(label))],
                "counts": _finite(record.samples.get(metric)),
            }
            for record in measured
            for label, metric in COUNTS.items()
            if label in record.samples or metric in record.samples
        },
    }


def _seconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp())


def _finite(samples: list[float] | None) -> list[float]:
    return [sample for sample in samples or () if math.isfinite(sample)]
