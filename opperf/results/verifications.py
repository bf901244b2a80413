"""Verifications of a run's results, as every report says them. A wrong result has a time, which is
shown, and is ranked and compared nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from opperf.errors import one_line
from opperf.model import Record, Status, VerificationCode
from opperf.plurals import pluralize
from opperf.results.settings import differing_settings, settings_text

TITLE = "Verification"
"""Header of a column of codes."""

WRONG = "wrong"
"""In place of a wrong result's time among others that it would be compared with."""

SHOWN = 3
"""Most wrong results that a sentence names."""

WIDTH = 200


def is_wrong(record: Record) -> bool:
    """Whether a record's results were verified, and are wrong."""
    return record.verification is not None and record.verification.is_wrong


def is_failed(record: Record) -> bool:
    """Whether a record's case failed, or its results are wrong."""
    return record.status.is_failure or is_wrong(record)


def wrong_reason(record: Record) -> str:
    """Returns why a record's results are wrong; empty unless they are."""
    found = record.verification
    return f"{WRONG} result: {found.failed}: {found.reason}" if found and found.is_wrong else ""


def why_without_figures(record: Record) -> str:
    """Returns why no figure of a record is compared with another: it has none, or a wrong result;
    empty where they are."""
    if record.status is not Status.OK:
        return f"{record.status.value}: {record.reason}"
    return wrong_reason(record)


def are_verified(records: Iterable[Record]) -> bool:
    """Whether the verification of some records was asked for."""
    return any(record.verification is not None for record in records)


def cells(records: Iterable[Record]) -> list[str]:
    """Returns a cell for each record: the code, and of a wrong result which one is."""
    found = (record.verification for record in records)
    return [
        "" if own is None else " ".join(filter(None, (own.code.value, own.failed))) for own in found
    ]


def sentences(records: Sequence[Record]) -> list[str]:
    """Returns how many results have each code, and those that are wrong; none where nothing was
    verified."""
    found = [record for record in records if record.verification is not None]
    if not found:
        return []
    counts = Counter(record.verification.code for record in found if record.verification)
    listed = ", ".join(f"{counts[code]} {code.value}" for code in VerificationCode if counts[code])
    wrong = [record for record in found if is_wrong(record)]
    if not wrong:
        return [f"{pluralize(len(found), 'result')} verified: {listed}"]
    settings = ("mode", *differing_settings(record.case for record in wrong))
    named = [_named(record, dict.fromkeys(settings)) for record in wrong[:SHOWN]]
    more = len(wrong) - len(named)
    named += [f"and {pluralize(more, 'other')}"] if more > 0 else []
    verb = "is" if len(wrong) == 1 else "are"
    of_all = f"{len(wrong)} of {pluralize(len(found), 'result')} {verb} wrong"
    return [f"{of_all} ({listed}): {'; '.join(named)}"]


def _named(record: Record, settings: Iterable[str]) -> str:
    found = record.verification
    assert found is not None
    how = settings_text(record.case, settings)
    return one_line(f"{record.case.label} in {how}, {found.failed}: {found.reason}", WIDTH)
