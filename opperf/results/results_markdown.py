"""A Markdown page of results in the format of MXNet's utility, `{operator: [result, ...]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opperf.model import MetricKind
from opperf.results.figures import NOT_APPLICABLE
from opperf.results.markdown import FEATURES, features_text, fold, grid

MEMORY = "max_storage_mem_alloc_"

MEDIANS = (("Forward (ms)", "p50_time_forward_"), ("Backward (ms)", "p50_time_backward_"))
MEANS = (("Mean forward (ms)", "avg_time_forward_"), ("Mean backward (ms)", "avg_time_backward_"))
"""Titles of columns, each with the prefix of its figure's key."""

PERCENTILES = (("P50 (ms)", "p50_time_"), ("P90 (ms)", "p90_time_"), ("P99 (ms)", "p99_time_"))
"""The same of both passes together."""


def results_text(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    features: Mapping[str, bool],
    kind: MetricKind,
) -> str:
    """Returns the page: a row for each configuration, sorted by operator, then the runtime
    features. Times are medians, or means if the results, of another program, have no medians.
    `kind` is that of the times."""
    keys = {key for listed in results.values() for result in listed for key in result}
    have_medians = any(key.startswith(prefix) for key in keys for _, prefix in MEDIANS)
    columns = (
        *(MEDIANS if have_medians else MEANS),
        ("Memory (kB)", MEMORY),
        *(PERCENTILES if kind is MetricKind.WALL else ()),
    )
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
            "## Results",
            grid(titles, rows, text_columns=2),
            fold(FEATURES, features_text(dict(features))),
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
