"""Joins the run files of parts of one run, for example of the jobs of a scheduler's array."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.errors import RunFileError
from opperf.model import Case, Closing, Environment, Header, Record, Run, Status
from opperf.model.runs import SELECTION
from opperf.plurals import pluralize
from opperf.results.kept import new_id, streams_of
from opperf.results.output import unwritable

PARTITION = "partition"
"""Key of a selection's options: the part of all cases that a run measures."""


class Part(NamedTuple):
    """A run that is joined with others, and its file."""

    path: Path
    run: Run


def merge_parts(parts: Sequence[Part]) -> tuple[Run, list[str]]:
    """Returns one run of all, each case once, and warnings. Of a case in several files the record
    that ended ok counts, of several such the last file's. The run is finished if all are. Raises
    `RunFileError` for a session."""
    for path, run in parts:
        if run.header.session:
            raise RunFileError(f"{path} is a session of `opperf ab`, which is no part of a run")
    cases: dict[str, Case] = {}
    environments: dict[str, Environment] = {}
    records: dict[str, Record] = {}
    sources: Counter[str] = Counter()
    for _, run in parts:
        cases |= {case.id: case for case in run.cases}
        environments |= run.environments
        for record in run.records:
            sources[record.id] += 1
            earlier = records.get(record.id)
            if earlier is None or record.status is Status.OK or earlier.status is not Status.OK:
                records[record.id] = record
    warnings = _missing_partitions(parts)
    repeated = sum(count > 1 for count in sources.values())
    if repeated:
        warnings.append(
            f"{pluralize(repeated, 'case')} in several files: of each the record that ended ok "
            "counts, or else the last file's"
        )
    unmeasured = len(cases.keys() - records.keys())
    if unmeasured:
        warnings.append(f"{pluralize(unmeasured, 'case')} not measured yet")
    ordered = tuple(records[id] for id in cases if id in records)
    merged = Run(
        _header(parts), ordered, _closing(parts, ordered), environments, tuple(cases.values())
    )
    return merged, warnings


def copy_streams(parts: Sequence[Part], merged: Run, output: Path) -> None:
    """Copies the streams of programs, of the records that `merged` has, beside its file. Raises
    `OutputError`."""
    counted = set(map(id, merged.records))
    for part in parts:
        names = {
            process.stream
            for record in part.run.records
            if id(record) in counted
            for process in record.processes
        }
        theirs, ours = streams_of(part.path), streams_of(output)
        for name in sorted(names - {""}):
            if (theirs / name).is_file():
                try:
                    ours.mkdir(exist_ok=True)
                    shutil.copy2(theirs / name, ours / name)
                except OSError as error:
                    raise unwritable(ours / name, error) from error


def _header(parts: Sequence[Part]) -> Header:
    headers = [run.header for _, run in parts]
    first = min(headers, key=lambda header: header.started)
    options = dict(first.options)
    if isinstance(options.get(SELECTION), Mapping):
        # It has the cases of all parts.
        options[SELECTION] = {
            key: value for key, value in options[SELECTION].items() if key != PARTITION
        }
    labels = dict(first.labels)
    for header in headers:
        labels = {key: text for key, text in labels.items() if header.labels.get(key) == text}
    interpreters = dict.fromkeys(itertools.chain(*(header.interpreters for header in headers)))
    return msgspec.structs.replace(
        first,
        options=options,
        labels=labels,
        excluded={name: why for header in headers for name, why in header.excluded.items()},
        interpreters=tuple(interpreters),
        id=new_id(),
        program=_shared("program", headers),
        wrapping=_shared("wrapping", headers),
    )


def _shared(name: str, headers: Sequence[Header]) -> Any:
    """Returns what all headers have under a name; None if they differ."""
    first, *others = (getattr(header, name) for header in headers)
    return first if all(other == first for other in others) else None


def _closing(parts: Sequence[Part], records: Sequence[Record]) -> Closing | None:
    closings = [run.closing for _, run in parts if run.closing is not None]
    if len(closings) < len(parts):
        return None
    counts = Counter(record.status.value for record in records)
    return Closing(
        finished=max(closing.finished for closing in closings),
        elapsed_s=sum(closing.elapsed_s for closing in closings),
        counts=dict(counts),
    )


def _partition(run: Run) -> tuple[int, int] | None:
    """Returns the part that a run is, and the number of parts; None for a whole run."""
    selection: Any = run.header.options.get(SELECTION)
    found = selection.get(PARTITION) if isinstance(selection, Mapping) else None
    return (int(found[0]), int(found[1])) if found else None


def _missing_partitions(parts: Sequence[Part]) -> list[str]:
    known = [partition for _, run in parts if (partition := _partition(run)) is not None]
    warnings = []
    for total in sorted({total for _, total in known}):
        missing = sorted(set(range(total)) - {id for id, own in known if own == total})
        if missing:
            listed = ", ".join(map(str, missing))
            warnings.append(f"of {total} partitions without those of id {listed}")
    return warnings
