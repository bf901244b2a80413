"""Which records a report of models is of: by accelerator, test, and names or tiers of models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opperf.errors import UsageError, unknown
from opperf.formats.model_records import TESTS, TITLES, ModelRecord
from opperf.models.packages import Filter
from opperf.plurals import pluralize

USUAL = "v100"
"""The accelerator of several, where none is named: PyTorch/XLA's default."""


@dataclass(frozen=True)
class Selection:
    """A restriction of records by the options; without one, all are taken."""

    accelerator: str | None = None
    test: str | None = None
    filter: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    filter_by_tier: tuple[int, ...] = ()
    exclude_by_tier: tuple[int, ...] = ()

    def of(self, records: Iterable[ModelRecord]) -> list[ModelRecord]:
        """Returns the records that are meant, in their order. Raises `UsageError` for a wrong
        pattern."""
        filter = Filter(self)
        test = TESTS[self.test] if self.test else None
        word = (self.accelerator or "").casefold()
        models: dict[str, bool] = {}
        machines: dict[tuple[str, str], bool] = {}
        found = []
        for record in records:
            if test is not None and record.test != test:
                continue
            name = record.model_name
            # Few names and accelerators have many records.
            if name not in models:
                models[name] = filter.selects_name(name)
            machine = record.accelerator_model, record.accelerator
            if machine not in machines:
                machines[machine] = matches(word, *machine)
            if models[name] and machines[machine]:
                found.append(record)
        return found


def matches(word: str, model: str, kind: str) -> bool:
    """Whether a word, in small letters, is part of an accelerator's model, or is its kind."""
    return word in model.casefold() or word == kind.casefold()


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


def why_nothing(selection: Selection, records: Sequence[ModelRecord]) -> str:
    """Returns why a selection has none of the records, for a message."""
    if not records:
        return "no results found: the files have no records"
    machines = list(dict.fromkeys(filter(None, map(machine_of, records))))
    tests = sorted({str(record.test) for record in records})
    what = [
        f"accelerator {selection.accelerator}" if selection.accelerator else "",
        f"test {selection.test}" if selection.test else "",
        "models by name or tier"
        if selection != Selection(selection.accelerator, selection.test)
        else "",
    ]
    return (
        f"no results found for {', '.join(filter(None, what))}; the files have "
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
