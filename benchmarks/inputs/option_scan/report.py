"""Tables of a scan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.inputs.option_scan.confirm import is_complete, verdicts
from benchmarks.inputs.option_scan.results import Results
from benchmarks.inputs.option_scan.screen import Screened, candidates
from opperf.comparison.ab.process import metric_of, pair_of
from opperf.model import Case, display_argument, iter_tensors
from opperf.reports.text import TextColumn, table_text
from opperf.results.text import value_text
from opperf.statistics.data import CaseVerdict, Verdict

NS_PER_US = 1000
"""Times of passes are in nanoseconds."""

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)

WORDS = {Verdict.SAME: "no", Verdict.AMBIGUOUS: "not shown", Verdict.INVALID: "invalid"}
"""What the table says of a verdict that is no change."""


class Row(NamedTuple):
    """A figure that was to be confirmed."""

    screened: Screened
    verdict: CaseVerdict

    @property
    def metric(self) -> str:
        return metric_of(self.verdict.case)

    @property
    def before_us(self) -> float:
        """Time of the case without the value, in the first process."""
        return {str(one): ns for one, ns in self.screened.before.items()}[self.metric] / NS_PER_US


def rows(results: Results) -> list[Row]:
    """Every figure with a verdict: the confirmed ones first, by operator."""
    screened = results.of_process(1)
    found = [
        Row(screened[pair_of(verdict.case)], verdict)
        for one in results.rounds
        for verdict in verdicts(one.session).verdicts
    ]
    return sorted(
        found,
        key=lambda row: (
            row.verdict.verdict not in CHANGED,
            row.screened.variant.case.label,
            row.screened.key,
            row.metric,
        ),
    )


def table(results: Results, width: int | None = None) -> str:
    """The table of what was to be confirmed."""
    found = rows(results)
    return table_text(
        [
            *_variant_columns([row.screened for row in found]),
            TextColumn("Pass", [row.metric for row in found]),
            TextColumn("Time us", [f"{row.before_us:.1f}" for row in found], is_text=False),
            TextColumn("Ratio", [_ratio_text(row.verdict) for row in found], is_text=False),
            TextColumn("Confirmed", [WORDS.get(row.verdict.verdict, "yes") for row in found]),
        ],
        width,
    )


def _variant_columns(found: Sequence[Screened]) -> list[TextColumn]:
    chosen = [one.variant for one in found]
    return [
        TextColumn("Operator", [one.case.label for one in chosen]),
        TextColumn("Configuration", [configuration_text(one.case) for one in chosen]),
        TextColumn("Parameter", [one.parameter for one in chosen]),
        TextColumn("Value", [str(one.value) for one in chosen]),
    ]


def configuration_text(case: Case) -> str:
    """The shape of the first tensor, and the values of a case: `(8, 64, 56, 56) axis=1`."""
    shapes = [str(spec.shape) for _, spec in case.tensors()][:1]
    plain = [
        f"{name}={value_text(display_argument(value))}"
        for name, value in case.arguments.items()
        if not any(True for _ in iter_tensors(value))
    ]
    return " ".join([*shapes, *plain])


def _ratio_text(verdict: CaseVerdict) -> str:
    if verdict.ratio is None or verdict.low is None or verdict.high is None:
        return ""
    return f"{verdict.ratio:.2f} [{math.exp(verdict.low):.2f}, {math.exp(verdict.high):.2f}]"


def refused_table(results: Results, width: int | None = None) -> str:
    """The variants that could not be measured, each with the reason."""
    found = [one for one in results.screened if one.reason]
    return table_text(
        [*_variant_columns(found), TextColumn("Reason", [one.reason for one in found])], width
    )


def screened_table(results: Results, width: int | None = None) -> str:
    """The variants that were measured, with the median ratios of the first process."""
    found = [one for one in results.of_process(1).values() if one.ratios]
    ratios = [
        ", ".join(f"{metric} {math.exp(_middle(of)):.2f}" for metric, of in one.ratios.items())
        for one in found
    ]
    return table_text([*_variant_columns(found), TextColumn("Ratio", ratios)], width)


def _middle(ratios: Sequence[float]) -> float:
    return sorted(ratios)[len(ratios) // 2]


def summary(results: Results) -> Iterator[str]:
    """The numbers of a scan."""
    first = results.of_process(1)
    found = rows(results)
    confirmed = [row for row in found if row.verdict.verdict in CHANGED]
    names = {one.variant.case.label for one in first.values()}
    measured = [one for one in first.values() if one.ratios]
    yield (
        f"{len(first)} variants of {len(names)} operators, {len(measured)} of them accepted and "
        "measured"
    )
    yield (
        f"{sum(bool(one.suspected) for one in measured)} apart in one process, "
        f"{len(candidates(results.screened))} in two"
    )
    operators = {row.screened.variant.case.label for row in confirmed}
    options = {
        (row.screened.variant.case.label, row.screened.variant.parameter) for row in confirmed
    }
    keys = {row.screened.key for row in confirmed}
    yield f"confirmed: {len(keys)} variants, {len(options)} options of {len(operators)} operators"
    for one in results.rounds:
        if not is_complete(one.session):
            yield "a round is not finished"
        elif not verdicts(one.session).valid:
            yield f"a round is invalid: {verdicts(one.session).reason}"
