"""Milabench's figures as a report, with the columns and the total that it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from opperf.reports.markdown import code
from opperf.reports.model import Column, Report, Section, Table, names, numbers
from opperf.results.units import NOT_APPLICABLE
from opperf.suite_results.milabench.figures import Figures, Row
from opperf.suite_results.score_report import COMMAND

Format = Callable[[float], str]

COLUMNS: Mapping[str, tuple[Callable[[Row], float], Format]] = {
    "fail": (lambda row: row.fail, "{:.0f}".format),
    "n": (lambda row: row.n, "{:.0f}".format),
    "ngpu": (lambda row: row.ngpu, "{:.0f}".format),
    "perf": (lambda row: row.perf, "{:.2f}".format),
    "sem%": (lambda row: row.sem, "{:.1%}".format),
    "std%": (lambda row: row.std, "{:.1%}".format),
    "peak_memory": (lambda row: row.peak_memory, "{:.0f}".format),
    "score": (lambda row: row.score, "{:.2f}".format),
    "weight": (lambda row: row.weight, "{:.2f}".format),
    "energy (Kj)": (lambda row: row.energy_kj, "{:.3f}".format),
    "perf_watt": (lambda row: row.perf_watt, "{:.3f}".format),
    "median_watt": (lambda row: row.median_watt, "{:.3f}".format),
}
"""Its columns, each with what it has and how it is written."""


def report_of(figures: Figures, name: str, price: float | None) -> Report:
    """Returns the report of a run of a name; JSON and CSV have all digits."""
    header = ["bench", *COLUMNS]
    rows = [
        [row.bench, *(_value(read(row)) for read, _ in COLUMNS.values())] for row in figures.rows
    ]
    scores: dict[str, Any] = {
        "failure_rate": figures.failure_rate,
        "passes": figures.passes,
        "score": _value(figures.score),
        "price": price,
        "rpp": _value(price / figures.score) if price and figures.score else None,
    }
    return Report(
        command=COMMAND,
        title=f"Benchmark results, as milabench: {name}",
        sections=[
            Section(
                "Breakdown",
                table=Table(
                    (names("bench", [row.bench for row in figures.rows]), *_columns(figures))
                ),
            ),
            Section("Scores", prose=_sentences(scores), in_answer=True),
            *(
                [Section("Passed over, without a beginning or an end", items=figures.ignored)]
                if figures.ignored
                else []
            ),
        ],
        data={
            "run": name,
            "as": "milabench",
            "benches": [dict(zip(header, row, strict=True)) for row in rows],
            **scores,
            "ignored": list(figures.ignored),
        },
        header=header,
        rows=rows,
        headline=f"Suite: {code(name)}",
        answer=_sentences(scores),
    )


def _columns(figures: Figures) -> list[Column]:
    return [
        numbers(title, [_text(read(row), write) for row in figures.rows])
        for title, (read, write) in COLUMNS.items()
    ]


def _text(value: float, write: Format) -> str:
    return NOT_APPLICABLE if math.isnan(value) else write(value)


def _value(value: float) -> float | None:
    """Returns a figure; None where there is none, which JSON cannot express as NaN."""
    return value if math.isfinite(value) else None


def _sentences(scores: Mapping[str, Any]) -> list[str]:
    word = "PASS" if scores["passes"] else "FAIL"
    score = NOT_APPLICABLE if scores["score"] is None else f"{scores['score']:.2f}"
    said = [f"Failure rate: {scores['failure_rate']:.2%} ({word}). Score: {score}."]
    if scores["rpp"] is not None:
        said.append(f"Price: {scores['price']:.2f}. RPP (price / score): {scores['rpp']:.2f}.")
    return said
