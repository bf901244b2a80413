"""A Markdown page of results by operator, `{operator: [result, ...]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opperf.instruments.memory import MEMORY
from opperf.instruments.times import BACKWARD, FORWARD, TOTAL
from opperf.model import MetricKind
from opperf.reports.markdown import write_markdown
from opperf.reports.model import Report, Section, Table, numbers, texts, words
from opperf.reports.run_page import features_section
from opperf.results.figures import NOT_APPLICABLE
from opperf.results.result_keys import Source, source_of

MEDIANS = (
    ("Forward (ms)", Source(FORWARD, "median")),
    ("Backward (ms)", Source(BACKWARD, "median")),
)
MEANS = (
    ("Mean forward (ms)", Source(FORWARD, "mean")),
    ("Mean backward (ms)", Source(BACKWARD, "mean")),
)
"""Titles of columns, each with what its figure is of."""

PERCENTILES = (
    ("P50 (ms)", Source(TOTAL, "median")),
    ("P90 (ms)", Source(TOTAL, "p90")),
    ("P99 (ms)", Source(TOTAL, "p99")),
)
"""The same of both passes together."""


def results_text(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    features: Mapping[str, bool],
    kind: MetricKind,
) -> str:
    """Returns the page: a row for each configuration, sorted by operator, then the runtime
    features. Times are medians, or means if the results, of another program, have no medians.
    `kind` is that of the times."""
    listed = [(name, result) for name, own in sorted(results.items()) for result in own]
    figures = [_figures(name, result) for name, result in listed]
    have_medians = any(source in found for found in figures for _, source in MEDIANS)
    columns = (
        *(MEDIANS if have_medians else MEANS),
        ("Memory (kB)", Source(MEMORY, "median")),
        *(PERCENTILES if kind is MetricKind.WALL else ()),
    )
    table = Table(
        (
            words("Operator", [name for name, _ in listed]),
            texts("Inputs", [_inputs(result) for _, result in listed]),
            *(
                numbers(title, [found.get(source, NOT_APPLICABLE) for found in figures])
                for title, source in columns
            ),
        )
    )
    sections = (Section("Results", table=table), features_section(dict(features)))
    page = Report("run", "Operator benchmarks", sections, None, level=1)
    return write_markdown(page).rstrip("\n")


def _inputs(result: Mapping[str, Any]) -> str:
    """Returns the inputs as written, and the details of tensors beside them."""
    inputs = str(result.get("inputs", NOT_APPLICABLE))
    details = ", ".join(f"{name}: {text}" for name, text in result.get("details", {}).items())
    return f"{inputs}; {details}" if details else inputs


def _figures(name: str, result: Mapping[str, Any]) -> dict[Source, str]:
    """Returns the figures of an operator's result by what they are of; of several devices' memory,
    the first."""
    found: dict[Source, str] = {}
    for key, value in result.items():
        source = source_of(key, name)
        if source is not None:
            found.setdefault(source, str(value))
    return found
