"""Compares two files: a verdict on each pair of figures, by the kind of metric and file."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from opperf.comparison.compared import (
    Change,
    ChangeKind,
    ComparedRow,
    Comparison,
    Side,
    geometric_means,
    sort_rows,
)
from opperf.comparison.files import joining
from opperf.comparison.files.confirming import confirming_command, explaining_command
from opperf.comparison.files.joining import contents_caveat, contents_notes, differences
from opperf.comparison.files.reading import Entry, Measured
from opperf.comparison.results import ResultsRow, looked_for, row_fields
from opperf.comparison.tolerances import Tolerances, tolerance_text
from opperf.errors import RunFileError
from opperf.machine.environment import comparability, incomparable_facts, machine_text
from opperf.metrics import default_metrics, metric_named, sort_metrics
from opperf.model import DIFFERENT, Check, Metric, Struct
from opperf.results.figures import Measurement
from opperf.results.settings import changed_settings_text
from opperf.statistics.data import CaseVerdict, Thresholds, Verdict
from opperf.statistics.order_statistics import allowed_difference, compare_figures, compare_samples

SEPARATE_RUNS = "The two runs were measured separately, not interleaved: times are at most suspect."

AVERAGES = (
    "Averages have no spread, so a ratio may be due to chance; run files (-f jsonl) have every "
    "sample."
)

NO_SPREAD = "averages have no spread"


class Question(Struct, frozen=True):
    """The options of a comparison."""

    metrics: tuple[str, ...] = ()
    """Names; if empty, the default metrics that both files have."""
    patterns: tuple[str, ...] = ()
    fail_on: tuple[str, ...] | None = None
    """None for the usual findings."""
    ignore_settings: bool = False
    in_order: bool = False
    """Whether cases are joined by their places in the files, whatever they are."""
    thresholds: Thresholds = Thresholds()
    tolerances: Tolerances = Tolerances()
    limits_file: str = ""
    weight: str | None = None
    """The weight of totals, `weighted.COUNT`; None for no totals."""


def compare(base: Measured, new: Measured, question: Question) -> Comparison:
    """Compares two files. Raises `RunFileError` or `UsageError` if nothing is compared."""
    question.tolerances.check(entry.operator for entry in (*base.entries, *new.entries))
    base, new = joining.filter_operators(base, new, question.patterns)
    averages = base.side.averages or new.side.averages
    pairs = joining.join(base.entries, new.entries, _key(base, new, question))
    if pairs or not new.missing:
        joining.check_common(base, new, pairs)
    fail_on = looked_for(
        question.fail_on,
        new.checks is not None,
        f"{new.side.name} does not compare its results with those of {base.side.name}; a session "
        "of opperf ab does, unless it was made with --no-check",
    )
    checks = new.checks or {}
    metrics = _metrics(pairs, question.metrics) if pairs else ()
    rows = tuple(
        row
        for metric in metrics
        for row in sort_rows(
            _row(base, new, metric, question, averages, checks.get(new.place))
            for base, new in pairs
            if base and new and metric in base.figures and metric in new.figures
        )
    )
    found = Comparison(
        command="compare",
        sides=(_side(base), _side(new)),
        threshold=question.thresholds.threshold,
        differences=differences(base, new, pairs),
        incomparable=incomparable_facts(base.environment, new.environment)
        if base.environment and new.environment
        else (),
        rows=rows,
        groups=geometric_means(rows),
        changes=(
            *(change for pair in pairs for change in _changes(pair, question.metrics or _usual())),
            *new.missing,
        ),
        unmeasured=sum(
            bool(base) and not _has_figures(base) and not _has_figures(new) for base, new in pairs
        ),
        fail_on=fail_on,
        limits_file=question.limits_file,
        notes=(*_notes(rows, averages), *contents_notes(pairs)),
        results=tuple(
            ResultsRow.of(before.id, _operators(before, after), before.inputs, check)
            for before, after in pairs
            if before and after and (check := checks.get(after.place)) is not None
        ),
        weighted=joining.weigh_pairs(_same(pairs, checks), metrics, averages)
        if question.weight
        else None,
        samples=dict(_samples(pairs, metrics)),
        again={row.id: tuple(_again(base, new, row)) for row in rows if row.id},
    )
    return msgspec.structs.replace(
        found, confirm=confirming_command(found, base, new), explain=explaining_command(found)
    )


def _again(base: Measured, new: Measured, row: ComparedRow) -> Iterator[tuple[str, str]]:
    """Yields the command that measures a case, that of each side where they differ. Results by
    operator have no cases to measure."""
    calls = {row.id: base.side}
    if row.other_id or base.side.averages:
        calls[row.other_id or row.id] = new.side
    for id, side in calls.items():
        if not side.averages:
            yield "Measure it again", f"opperf run {shlex.quote(side.path)} --id {id}"


def _same(pairs: Sequence[joining.Pair], checks: Mapping[int | None, Check]) -> list[joining.Pair]:
    """Returns the pairs without those whose results differ."""
    wrong = {place for place, check in checks.items() if check.outcome == DIFFERENT}
    return [pair for pair in pairs if pair.new is None or pair.new.place not in wrong]


def _side(measured: Measured) -> Side:
    environment = measured.environment
    return msgspec.structs.replace(
        measured.side,
        cases=len(measured.entries),
        comparability="" if environment is None else comparability(environment),
        machine="" if environment is None else machine_text(environment),
    )


def _key(base: Measured, new: Measured, question: Question) -> joining.By:
    if question.in_order:
        joining.check_places(base, new)
        return "place"
    if base.side.averages or new.side.averages:
        return joining.by_inputs(base.entries, new.entries)
    return "call" if question.ignore_settings else "id"


def _has_figures(entry: Entry | None) -> bool:
    return entry is not None and bool(entry.figures)


def _metrics(pairs: Sequence[joining.Pair], asked: Sequence[str]) -> tuple[str, ...]:
    """Returns the requested metrics that both files have, in order. Raises `RunFileError`."""
    units = {
        name: base.figures[name].unit
        for base, new in pairs
        if base and new
        for name in base.figures.keys() & new.figures.keys()
    }
    common = sort_metrics(metric_named(name, unit) for name, unit in units.items())
    chosen = tuple(
        metric.name
        for metric in common
        if ({metric.name, metric.forward} & set(asked) if asked else metric.usual)
    )
    # Without names, one of the default metrics is enough.
    needed = (asked or _usual()) if asked or not chosen else ()
    missed = [name for name in needed if name not in units]
    explained = any(_is_in_one_only(pair, metric) for metric in missed for pair in pairs)
    if missed and not explained:
        available = ", ".join(metric.name for metric in common) or "none"
        if not asked:
            raise RunFileError(
                f"no common case has one of the usual metrics; available: {available}; "
                "name one with --metric"
            )
        raise RunFileError(
            f"no common case has the metric {' or '.join(missed)}; available: {available}"
        )
    return chosen


def _usual() -> tuple[str, ...]:
    return tuple(metric.name for metric in default_metrics())


def _is_in_one_only(pair: joining.Pair, metric: str) -> bool:
    if not (pair.base and pair.new):
        return False
    entries = (pair.base, pair.new)
    return any(metric in entry.figures for entry in entries) and any(
        not entry.figures or metric in entry.absent for entry in entries
    )


def _samples(
    pairs: Iterable[joining.Pair], metrics: Sequence[str]
) -> Iterable[tuple[tuple[str, str], tuple[list[float], list[float]]]]:
    """Yields the samples of both sides, where they scatter, by the id and metric of a row."""
    for base, new in pairs:
        if base is None or new is None:
            continue
        for metric in base.figures.keys() & new.figures.keys() & set(metrics):
            a, b = base.figures[metric], new.figures[metric]
            is_steady = metric_named(metric, a.unit).is_steady
            if a.samples and b.samples and a.unit == b.unit and not is_steady:
                yield (base.id or new.id, metric), (a.samples, b.samples)


def _row(
    base: Entry, new: Entry, metric: str, question: Question, averages: bool, check: Check | None
) -> ComparedRow:
    a, b = base.figures[metric], new.figures[metric]
    left, right = _values(a, b, averages)
    described = metric_named(metric, a.unit)
    if described.is_steady:
        operators = dict.fromkeys((base.operator, new.operator))
        described = question.tolerances.of(described, operators)
    found = _judge(described, a, b, question.thresholds, averages)
    # A figure that does not scatter has no interval.
    scattered = not described.is_steady
    effect = found.effect
    if effect is None and all(math.isfinite(value) and value > 0 for value in (left, right)):
        effect = math.log(right / left)
    caveats = (_caveat(a, b), contents_caveat(base, new) if described.is_time else "")
    row = ComparedRow(
        id=base.id or new.id,
        operator=_operators(base, new),
        inputs=base.inputs,
        category=base.category or new.category,
        metric=metric,
        unit=a.unit,
        base=left,
        new=right,
        verdict=found.verdict,
        base_half_width=None if averages else a.half_width,
        new_half_width=None if averages else b.half_width,
        base_unreliable=not averages and a.unreliable,
        new_unreliable=not averages and b.unreliable,
        ratio=_ratio(effect),
        low=_ratio(found.low) if scattered else None,
        high=_ratio(found.high) if scattered else None,
        note=found.note,
        caveat="; ".join(filter(None, caveats)),
        settings=base.differing or new.differing,
        changed_settings=changed_settings_text(_shared_settings(base, new)),
        point=base.point or new.point,
        other_id=new.id if base.call != new.call else "",
        allowed=allowed_difference(described, left) if described.is_steady else None,
        tolerance=tolerance_text(described) if described.is_steady else "",
    )
    return msgspec.structs.replace(row, **row_fields(row.verdict, check, row.is_worse))


def _operators(base: Entry, new: Entry) -> str:
    one, other = base.operator, new.operator
    return one if one == other else f"{one} | {other}"


def _shared_settings(base: Entry, new: Entry) -> dict[str, Any]:
    """Returns the settings that both have; those of one where the other's file has none."""
    if not (base.settings and new.settings):
        return base.settings or new.settings
    return {name: value for name, value in base.settings.items() if value == new.settings[name]}


def _values(a: Measurement, b: Measurement, averages: bool) -> tuple[float, float]:
    return (a.summary.mean, b.summary.mean) if averages else (a.median, b.median)


def _ratio(effect: float | None) -> float | None:
    return None if effect is None else math.exp(effect)


def _caveat(a: Measurement, b: Measurement) -> str:
    if a.caveat == b.caveat:
        return a.caveat and f"both: {a.caveat}"
    named = (("base", a.caveat), ("new", b.caveat))
    return "; ".join(f"{side}: {caveat}" for side, caveat in named if caveat)


def _judge(
    metric: Metric, a: Measurement, b: Measurement, thresholds: Thresholds, averages: bool
) -> CaseVerdict:
    name = metric.name
    values = _values(a, b, averages)
    if a.unit != b.unit:
        return CaseVerdict(name, Verdict.AMBIGUOUS, note=f"the units differ: {a.unit} and {b.unit}")
    if not all(math.isfinite(value) for value in (*values, *a.samples, *b.samples)):
        return CaseVerdict(name, Verdict.AMBIGUOUS, note="a figure is not finite")
    if min(values) < 0:
        return CaseVerdict(name, Verdict.AMBIGUOUS, note="a figure is negative")
    if metric.is_steady:
        found = compare_figures(name, *values, metric)
        why = NO_SPREAD if averages else a.unsound or b.unsound
        if not why:
            return found
        return msgspec.structs.replace(found, verdict=WEAKER[found.verdict], note=why)
    if averages:
        if min(values) == 0:
            return CaseVerdict(name, Verdict.AMBIGUOUS, note="an average is zero")
        effect = math.log(values[1] / values[0])
        is_beyond = abs(effect) > thresholds.margin
        verdict = Verdict.SUSPECT if is_beyond else Verdict.NO_CLEAR_CHANGE
        return CaseVerdict(name, verdict, effect, note=NO_SPREAD)
    return compare_samples(name, a.samples, b.samples, thresholds.margin)


WEAKER = {
    Verdict.REGRESSED: Verdict.SUSPECT,
    Verdict.IMPROVED: Verdict.SUSPECT,
    Verdict.SAME: Verdict.NO_CLEAR_CHANGE,
}
"""The weaker verdict that replaces one where the figures are unsound."""


def _changes(pair: joining.Pair, metrics: Sequence[str]) -> Iterable[Change]:
    base, new = pair
    had, has = _has_figures(base), _has_figures(new)
    if base and new and had and has:
        for metric in metrics:
            if metric in base.figures and metric in new.absent:
                yield _change(ChangeKind.BROKEN, base, metric, new.absent[metric])
            elif metric in new.figures and metric in base.absent:
                yield _change(ChangeKind.FIXED, new, metric, base.absent[metric])
    elif base and had:
        kind = ChangeKind.BROKEN if new else ChangeKind.DISAPPEARED
        yield _change(kind, base, "", new.reason if new else "")
    elif new and not base:
        yield _change(ChangeKind.APPEARED, new, "", new.reason)
    elif new and base and has:
        yield _change(ChangeKind.FIXED, new, "", base.reason)


def _change(kind: ChangeKind, entry: Entry, metric: str, reason: str) -> Change:
    return Change(
        kind,
        entry.id,
        entry.operator,
        entry.inputs,
        metric,
        reason,
        entry.differing,
        changed_settings_text(entry.settings),
    )


def _notes(rows: Iterable[ComparedRow], averages: bool) -> tuple[str, ...]:
    if averages:
        return (AVERAGES,)
    return (SEPARATE_RUNS,) if any(not row.described.is_steady for row in rows) else ()
