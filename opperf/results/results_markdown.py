"""A Markdown page of results in the format of MXNet's utility, `{operator: [result, ...]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opperf.model import MetricKind
from opperf.results.figures import NOT_APPLICABLE
from opperf.results.markdown import features_text, grid

MEMORY = "max_storage_mem_alloc_"

COLUMNS = (
    ("Max Mem Usage (Storage) (kB)", MEMORY),
    ("Avg Forward Time (ms)", "avg_time_forward_"),
    ("Avg Backward Time (ms)", "avg_time_backward_"),
)
"""Titles, each with the prefix of its figure's key."""

PERCENTILE_COLUMNS = (
    ("P50 Time (ms)", "p50_time_"),
    ("P90 Time (ms)", "p90_time_"),
    ("P99 Time (ms)", "p99_time_"),
)


def results_text(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    features: Mapping[str, bool],
    kind: MetricKind,
) -> str:
    """Returns the page: runtime features, then a row for each configuration, sorted by operator.
    `kind` is that of the times."""
    columns = COLUMNS + (PERCENTILE_COLUMNS if kind is MetricKind.WALL else ())
    rows = [
        [
            name,
            _inputs(result),
            *(_figure(result, key, name) for _, key in columns),
        ]
        for name, listed in sorted(results.items())
        for result in listed
    ]
    titles = ["Operator", "Inputs", *(title for title, _ in columns)]
    return "\n\n".join(
        [
            "# Operator benchmarks",
            "## Runtime Features",
            features_text(dict(features)),
            "## Results",
            grid(titles, rows, text_columns=2),
        ]
    )


def _inputs(result: Mapping[str, Any]) -> str:
    """Returns the inputs as written, and the details of tensors beside them."""
    inputs = str(result.get("inputs", NOT_APPLICABLE))
    details = ", ".join(f"{name}: {text}" for name, text in result.get("details", {}).items())
    return f"{inputs}; {details}" if details else inputs


def _figure(result: Mapping[str, Any], key: str, name: str) -> str:
    """Returns the figure of a column: keys end with the device's name for memory, and with the
    operator's for times."""
    found = [
        value
        for field, value in result.items()
        if field == key + name or (key == MEMORY and field.startswith(MEMORY))
    ]
    return str(found[0]) if found else NOT_APPLICABLE
