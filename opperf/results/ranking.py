"""The times that rankings of a run are about, and a sentence on the others."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import PASSES, NoteCode, Record
from opperf.plurals import pluralize


def is_ranked(record: Record, metric: str) -> bool:
    """Whether a time is of the operator's work, and not only of a launch."""
    return record.note(metric, NoteCode.LAUNCH_BOUND) is None


def explain_unranked(records: Iterable[Record], metrics: Iterable[str] = PASSES) -> str:
    """Returns how many times of these metrics are not ranked, and why; empty if all are."""
    names = tuple(metrics)
    count = sum(
        metric in record.summaries and not is_ranked(record, metric)
        for record in records
        for metric in names
    )
    if not count:
        return ""
    return (
        f"{pluralize(count, 'time')} {'is' if count == 1 else 'are'} not ranked, as an empty "
        "kernel takes hardly less"
    )
