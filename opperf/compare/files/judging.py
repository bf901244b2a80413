"""Two files as a comparison: each pair of figures judged by what kind of file it is from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from opperf.compare.files.comparison import (
    Change,
    ChangeKind,
    Comparison,
    Row,
    geometric_means,
    sorted_rows,
)
from opperf.compare.files.confirming import confirming_command
from opperf.compare.files.differing import differences
from opperf.compare.files.entries import Entry, Figure
from opperf.compare.files.joining import By, Pair, check_common, filtered, joined
from opperf.compare.files.reading import Measured
from opperf.compare.statistics.data import CaseVerdict, Rules, Verdict
from opperf.compare.statistics.order_statistics import compare_samples
from opperf.compare.statistics.tolerance import compare_figures
from opperf.errors import RunFileError
from opperf.metrics import in_order, metric_named, usual
from opperf.model import Struct

APART = (
    "The two runs were taken apart, not interleaved: of a time no more can be said than that it is "
    "suspect."
)

AVERAGES = (
    "Averages have no spread: whether a ratio is chance cannot be told from them. Run files "
    "(-f jsonl) have every sample."
)

NO_SPREAD = "averages have no spread"


class Question(Struct, frozen=True):
    """What is asked of two files."""

    metrics: tuple[str, ...] = ()
    """Names; none means the usual ones, as far as they are there."""
    patterns: tuple[str, ...] = ()
    """Which operators; none means all."""
    fail_on: tuple[str, ...] = ()
    ignore_settings: bool = False
    rules: Rules = Rules()


def compare(base: Measured, new: Measured, question: Question) -> Comparison:
    """Compare two files.

    Raises `RunFileError` if they have no case, or no metric, in common, and `UsageError` for a
    pattern that fits nothing.
    """
    base, new = filtered(base, new, question.patterns)
    averages = base.side.averages or new.side.averages
    by = By.SHOWN if averages else By.CALL if question.ignore_settings else By.ID
    pairs = joined(base.entries, new.entries, by)
    check_common(base, new, pairs)
    metrics = _metrics(pairs, question.metrics)
    rows = tuple(
        row
        for metric in metrics
        for row in sorted_rows(_rows(pairs, metric, question.rules, averages))
    )
    found = Comparison(
        base=msgspec.structs.replace(base.side, cases=len(base.entries)),
        new=msgspec.structs.replace(new.side, cases=len(new.entries)),
        threshold=question.rules.threshold,
        metrics=metrics,
        differences=differences(base, new, pairs),
        rows=rows,
        means=geometric_means(rows),
        changes=tuple(
            change for pair in pairs for change in _changes(pair, question.metrics or _usual())
        ),
        unmeasured=sum(
            bool(base) and not _has_figures(base) and not _has_figures(new) for base, new in pairs
        ),
        fail_on=question.fail_on,
        notes=_notes(rows, averages),
    )
    return msgspec.structs.replace(found, confirm=confirming_command(found, base, new))


def _has_figures(entry: Entry | None) -> bool:
    return entry is not None and bool(entry.figures)


def _metrics(pairs: Sequence[Pair], asked: Sequence[str]) -> tuple[str, ...]:
    """Names of the metrics asked for that both files have of some case, in the order in which they
    are shown.

    Raises `RunFileError` if there is none, and for one that was named and is not there, unless a
    case that only one of the runs could measure explains it.
    """
    units = {
        name: base.figures[name].unit
        for base, new in pairs
        if base and new
        for name in base.figures.keys() & new.figures.keys()
    }
    common = in_order(metric_named(name, unit) for name, unit in units.items())
    chosen = tuple(
        metric.name for metric in common if (metric.name in asked if asked else metric.usual)
    )
    # Only a metric that was asked for by name is missed.
    missed = (
        [name for name in asked or _usual() if name not in units] if asked or not chosen else []
    )
    explained = any(_came_or_went(pair, metric) for metric in missed for pair in pairs)
    if missed and not explained:
        there = [metric.name for metric in common]
        raise RunFileError(
            f"no case that both files measured has the metric {' or '.join(missed)}; "
            f"there is: {', '.join(there) or 'none'}"
        )
    return chosen


def _usual() -> tuple[str, ...]:
    return tuple(metric.name for metric in usual())


def _came_or_went(pair: Pair, metric: str) -> bool:
    """Whether both runs tried to measure a metric of the case, and only one of them could."""
    if not (pair.base and pair.new):
        return False
    entries = (pair.base, pair.new)
    return any(metric in entry.figures for entry in entries) and any(
        not entry.figures or metric in entry.absent for entry in entries
    )


def _rows(pairs: Iterable[Pair], metric: str, rules: Rules, averages: bool) -> Iterable[Row]:
    for base, new in pairs:
        if base and new and metric in base.figures and metric in new.figures:
            yield _row(base, new, metric, rules, averages)


def _row(base: Entry, new: Entry, metric: str, rules: Rules, averages: bool) -> Row:
    a, b = base.figures[metric], new.figures[metric]
    found = _judged(metric, a, b, rules, averages)
    left, right = _values(a, b, averages)
    # Of a figure that does not scatter, the interval is the figure.
    scattered = not metric_named(metric, a.unit).is_steady
    effect = found.effect
    if effect is None and _is_positive(left) and _is_positive(right):
        effect = math.log(right / left)
    return Row(
        id=base.id or new.id,
        operator=base.operator,
        inputs=base.inputs,
        category=base.category or new.category,
        metric=metric,
        unit=a.unit,
        base=left,
        new=right,
        verdict=found.verdict,
        base_half_width=None if averages else a.half_width,
        new_half_width=None if averages else b.half_width,
        ratio=_ratio(effect),
        low=_ratio(found.low) if scattered else None,
        high=_ratio(found.high) if scattered else None,
        note=found.note,
        caveat=_caveat(a, b),
    )


def _values(a: Figure, b: Figure, averages: bool) -> tuple[float, float]:
    return (a.mean, b.mean) if averages else (a.median, b.median)


def _is_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _ratio(effect: float | None) -> float | None:
    return None if effect is None else math.exp(effect)


def _caveat(a: Figure, b: Figure) -> str:
    """What is odd about either figure."""
    if a.caveat == b.caveat:
        return a.caveat and f"both: {a.caveat}"
    named = (("base", a.caveat), ("new", b.caveat))
    return "; ".join(f"{side}: {caveat}" for side, caveat in named if caveat)


def _judged(name: str, a: Figure, b: Figure, rules: Rules, averages: bool) -> CaseVerdict:
    """The verdict that figures of this kind can have."""
    values = _values(a, b, averages)
    if a.unit != b.unit:
        return CaseVerdict(name, Verdict.AMBIGUOUS, note=f"{a.unit} against {b.unit}")
    if not all(math.isfinite(value) for value in (*values, *a.samples, *b.samples)):
        return CaseVerdict(name, Verdict.AMBIGUOUS, note="a figure is no finite number")
    if min(values) < 0:
        return CaseVerdict(name, Verdict.AMBIGUOUS, note="a figure is below zero")
    metric = metric_named(name, a.unit)
    if metric.is_steady:
        found = compare_figures(name, *values, metric)
        return _weakened(found, NO_SPREAD if averages else _why_unsound(a, b))
    if averages:
        return _of_averages(name, *values, rules.margin)
    return compare_samples(name, a.samples, b.samples, rules.margin)


def _why_unsound(a: Figure, b: Figure) -> str:
    return "a figure may contain other operators' workspace" if a.unsound or b.unsound else ""


WEAKER = {
    Verdict.REGRESSED: Verdict.SUSPECT,
    Verdict.IMPROVED: Verdict.SUSPECT,
    Verdict.SAME: Verdict.UNSUSPICIOUS,
}
"""What a verdict becomes where the figures do not bear it."""


def _weakened(found: CaseVerdict, why: str) -> CaseVerdict:
    """The verdict as it is, or the weaker one if there is a reason why."""
    if not why:
        return found
    return msgspec.structs.replace(found, verdict=WEAKER[found.verdict], note=why)


def _of_averages(case: str, a: float, b: float, margin: float) -> CaseVerdict:
    """Suspect if the averages differ by more than the margin, which proves nothing."""
    if min(a, b) == 0:
        return CaseVerdict(case, Verdict.AMBIGUOUS, note="an average is zero")
    effect = math.log(b / a)
    verdict = Verdict.SUSPECT if abs(effect) > margin else Verdict.UNSUSPICIOUS
    return CaseVerdict(case, verdict, effect, note=NO_SPREAD)


def _changes(pair: Pair, metrics: Sequence[str]) -> Iterable[Change]:
    """What only one of the files has figures of, of one case."""
    base, new = pair
    had, has = _has_figures(base), _has_figures(new)
    if base and new and had and has:
        for metric in metrics:
            if metric in base.figures and metric in new.absent:
                yield _change(ChangeKind.BROKEN, base, metric, new.absent[metric])
            elif metric in new.figures and metric in base.absent:
                yield _change(ChangeKind.MENDED, new, metric, base.absent[metric])
    elif base and had:
        kind = ChangeKind.BROKEN if new else ChangeKind.DISAPPEARED
        yield _change(kind, base, "", new.reason if new else "")
    elif new and not base:
        yield _change(ChangeKind.APPEARED, new, "", new.reason)
    elif new and base and has:
        yield _change(ChangeKind.MENDED, new, "", base.reason)


def _change(kind: ChangeKind, entry: Entry, metric: str, reason: str) -> Change:
    return Change(kind, entry.id, entry.operator, entry.inputs, metric, reason)


def _notes(rows: Iterable[Row], averages: bool) -> tuple[str, ...]:
    """What is true of all verdicts of a kind, where there are some."""
    if averages:
        return (AVERAGES,)
    return (APART,) if any(not row.described.is_steady for row in rows) else ()
