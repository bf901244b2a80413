"""Which records a report of models is of: by accelerator, test, and names or tiers of models."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from opperf.errors import UsageError, unknown
from opperf.formats.model_records import TESTS, TITLES, ModelRecord
from opperf.models.packages import Filter
from opperf.plurals import pluralize

USUAL = "v100"
"""The accelerator of several, where none is named: PyTorch/XLA's default."""


def select(
    records: Iterable[ModelRecord], accelerator: str | None, test: str | None, models: Filter
) -> list[ModelRecord]:
    """Returns the records of an accelerator, whose model or kind is named, and of a test, in their
    order; None for all."""
    word = (accelerator or "").casefold()
    # Few names and accelerators have many records.
    is_wanted = functools.cache(models.selects_name)

    @functools.cache
    def is_meant(model: str, kind: str) -> bool:
        return word in model.casefold() or word == kind.casefold()

    return [
        record
        for record in records
        if (not test or record.test == TESTS[test])
        and is_wanted(record.model_name)
        and is_meant(record.accelerator_model, record.accelerator)
    ]


def machine_of(record: ModelRecord) -> str:
    """Returns what identifies the accelerator of a record."""
    return record.accelerator_model or record.accelerator


def only_accelerator(records: Iterable[ModelRecord]) -> str:
    """Returns the accelerator of all records, or of several the usual one. Raises `UsageError` if
    that is not among them: times of two machines have no common baseline."""
    found = list(dict.fromkeys(map(machine_of, records)))
    if len(found) < 2:
        return found[0] if found else ""
    if any(USUAL in name.casefold() for name in found):
        return USUAL
    raise UsageError(
        f"the records are of several accelerators; name one with --accelerator: {listed(found)}"
    )


MOST_NAMES = 6
"""Most names that a message lists."""


def listed(names: Sequence[str]) -> str:
    """Returns names for a message."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f", and {more} more" if more > 0 else "")


def why_nothing(
    records: Sequence[ModelRecord], accelerator: str | None, test: str | None, by_name: bool
) -> str:
    """Returns why none of the records is meant, for a message."""
    if not records:
        return "no results found: the files have no records"
    machines = list(dict.fromkeys(filter(None, map(machine_of, records))))
    tests = sorted({str(record.test) for record in records})
    what = [
        *([f"accelerator {accelerator}"] if accelerator else []),
        *([f"test {test}"] if test else []),
        *(["models by name or tier"] if by_name else []),
    ]
    return (
        f"no results found for {', '.join(what)}; the files have "
        f"{pluralize(len(records), 'record')} of the accelerators {listed(machines) or 'unknown'} "
        f"and the tests {', '.join(tests)}"
    )


def check_backends(backends: Sequence[str], records: Sequence[ModelRecord]) -> None:
    """Raises `UsageError` for a backend that nothing has, or that is named twice."""
    known = dict.fromkeys([*TITLES, *filter(None, (record.backend for record in records))])
    for backend in backends:
        if backend not in known:
            raise unknown("backend", backend, known)
        if backends.count(backend) > 1:
            raise UsageError(f"--backends has {backend} twice; name it once")
