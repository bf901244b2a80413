"""Reads run files, and results by operator, which hold averages only, into one form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf import model
from opperf.comparison.compared import Change, Side
from opperf.decoding import decode, read_json
from opperf.errors import RunFileError, one_line
from opperf.instruments.times import FORWARD, KERNEL
from opperf.model import Struct, identity_of
from opperf.model.metrics import WRONG
from opperf.model.runs import SELECTION
from opperf.plurals import pluralize
from opperf.reading import READ_WHOLE, read_bytes
from opperf.results.details import display_details
from opperf.results.figures import CaseFigures, Measurement
from opperf.results.kept import display
from opperf.results.lines import PARAM_RESULTS
from opperf.results.opperf_json import VERIFICATION, source_of
from opperf.results.output import sidecar
from opperf.results.possible import NOT_NEGATIVE, refused_order
from opperf.results.runfile import is_run_file, read_run
from opperf.results.settings import differing_settings, settings_text
from opperf.results.sweeps import point_text
from opperf.results.text import arguments_text, inputs_text
from opperf.results.units import unit_of


class Entry(Struct, frozen=True):
    """One case of one file."""

    operator: str
    inputs: str
    shown: str
    """Operator and inputs in the form of results by operator, which have no other key."""
    details: str = ""
    """Details of the tensors besides their shapes, which not every writer of such results has."""
    pattern: str = ""
    """The operator as a command takes it; empty where none can name it."""
    id: str = ""
    place: int | None = None
    """Place among the planned cases of its file; None where the file has no plan."""
    selector: str = ""
    """Id by which a command chooses the case; empty where the file has none, nor one beside it."""
    call: str = ""
    """Id of its target and arguments, without settings."""
    category: str = ""
    count: int | None = None
    point: str = ""
    settings: dict[str, Any] = {}
    differing: str = ""
    """Those in which cases of the file differ that have the same operator and inputs, as text."""
    effort: dict[str, Any] = {}
    reason: str = ""
    figures: dict[str, Measurement] = {}
    absent: dict[str, str] = {}


class Measured(NamedTuple):
    """The content of a file, in the form in which it is compared."""

    side: Side
    environment: model.Environment | None
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]
    selection: dict[str, Any]
    labels: dict[str, str] = {}
    checks: dict[int | None, model.Check] | None = None
    """How the results of a session's cases compare, by place; None where they were not compared."""
    file: Path | None = None
    missing: tuple[Change, ...] = ()
    """Cases that a session's other arm has and this one has not."""


def doubts(base: Measured, new: Measured) -> tuple[str, ...]:
    """Returns what is doubtful about the two sides of a comparison, a line each."""
    found = [*base.warnings, *new.warnings]
    if base.file and new.file and base.file.samefile(new.file):
        found.append(f"{base.file} and {new.file} are the same file")
    return tuple(dict.fromkeys(found))


def read(path: Path) -> Measured:
    """Reads a run file, or results by operator. Raises `RunFileError` for any other file."""
    try:
        # A run file may be larger than what is read whole; a pipe can be read only once.
        is_run = path.is_file() and is_run_file(path)
        data = b"" if is_run else read_bytes(path, READ_WHOLE)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error
    if is_run or not data.strip():
        return read_records(path, *read_run(path))._replace(file=path)
    return _from_results(path, data)._replace(file=path)


def read_records(path: Path, run: model.Run, warnings: Iterable[str], arm: str = "") -> Measured:
    """Returns a run file's content, or an arm's. Raises `RunFileError` without a record."""
    found = list(warnings)
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to compare")
    if run.closing is None:
        left = len(set(run.planned) - {record.id for record in run.records})
        verb = "has" if left == 1 else "have"
        found.append(
            f"{path}: the run was not finished; {pluralize(left, 'case')} {verb} no record"
        )
    names = differing_settings(record.case for record in run.records)
    places = {name: place for place, name in enumerate(run.planned)}
    entries = tuple(
        msgspec.structs.replace(entry_of(record, names), place=places.get(record.id))
        for record in run.records
    )
    found += _odd_figures(path, entries)
    return Measured(
        Side(
            display(path),
            run.header.started,
            len(entries),
            arm=arm,
            loaded=tuple(
                dict.fromkeys(chain.from_iterable(record.loaded for record in run.records))
            ),
        ),
        run.environment,
        entries,
        tuple(found),
        run.header.options.get(SELECTION) or {},
        run.header.labels,
    )


def entry_of(record: model.Record, differing: Iterable[str] = ()) -> Entry:
    """Returns a record as it is compared; `differing` are settings that its file must tell."""
    case, found = record.case, CaseFigures(record)
    return Entry(
        id=record.id,
        selector=record.id,
        call=msgspec.structs.replace(case, settings=model.Settings()).id,
        shown=shown_key(case.label, model.display_arguments(case)),
        details=details_key(display_details(case)),
        operator=case.label,
        pattern=case.pattern,
        inputs=inputs_text(case),
        category=case.category,
        count=case.count,
        point=point_text(case.point),
        settings=identity_of(case.settings),
        differing=settings_text(case, differing),
        effort={name: getattr(case.settings, name) for name in EFFORT},
        reason=one_line(record.why_without_figures),
        figures=_figures(found),
        absent=found.absent,
    )


EFFORT = tuple(name for name, setting in model.DECLARED.items() if not setting.identity)
"""Settings that are not part of the case's id: number of calls, time limits, seed."""


def shown_key(operator: str, inputs: Any) -> str:
    """The join key of results by operator: operator and inputs."""
    return f"{operator} {json.dumps(inputs, sort_keys=True, default=str)}"


def _figures(found: CaseFigures) -> dict[str, Measurement]:
    figures = found.compared
    if found.record.time_kind is model.MetricKind.KERNEL and FORWARD.name in figures:
        figures.setdefault(KERNEL.name, figures[FORWARD.name])
    return figures


def _odd_figures(path: Path, entries: Iterable[Entry]) -> list[str]:
    odd = [
        f"{entry.operator} {metric}"
        for entry in entries
        for metric, figure in entry.figures.items()
        if metric != KERNEL.name and not figure.is_finite
    ]
    if len(odd) == 1:
        return [f"{path}: 1 figure is not finite: {odd[0]}"]
    return [f"{path}: {len(odd)} figures are not finite, e.g. {odd[0]}"] if odd else []


def _from_results(path: Path, data: bytes) -> Measured:
    if data.startswith(PARAM_RESULTS):
        raise RunFileError(
            f"{path}: results in PARAM's format (-f param), which have no settings to compare by; "
            "compare run files, as `opperf run -f jsonl` writes them"
        )
    try:
        results = read_json(data)
    except ValueError as error:
        raise RunFileError(
            f"{path}: neither a run file nor results by operator as JSON: "
            f"{one_line(str(error))}; is it truncated?"
        ) from error
    beside = _read_sidecar(path)
    entries = entries_of_results(path, results, beside.ids)
    side = Side(str(path), beside.started, len(entries), averages=True)
    return Measured(
        side,
        beside.environment,
        entries,
        tuple(_odd_figures(path, entries)),
        beside.options.get(SELECTION) or {},
    )


class Sidecar(msgspec.Struct, frozen=True):
    """The file beside results by operator, as far as a comparison reads it."""

    environment: model.Environment | None = None
    started: str = ""
    options: dict[str, Any] = {}
    ids: dict[str, list[str]] = {}


SIDECAR: msgspec.json.Decoder[Sidecar] = msgspec.json.Decoder(Sidecar)


def _read_sidecar(path: Path) -> Sidecar:
    """Returns the file beside results by operator; empty if it cannot be read."""
    try:
        return decode(SIDECAR.decode, read_bytes(sidecar(path), READ_WHOLE))
    except (OSError, msgspec.DecodeError):
        return Sidecar()


def entries_of_results(
    path: Path, results: Any, ids: Mapping[str, Sequence[str]]
) -> tuple[Entry, ...]:
    """Returns an entry for every result. Raises `RunFileError` for any other content."""
    if not isinstance(results, dict):
        raise RunFileError(f"{path}: not results by operator: the JSON is not an object")
    entries = tuple(
        _entry(path, operator, result, selector)
        for operator, listed in results.items()
        for result, selector in _results(path, operator, listed, ids.get(operator, ()))
    )
    if not entries:
        raise RunFileError(f"{path}: has no results, so there is nothing to compare")
    measured = dict.fromkeys(name for entry in entries for name in entry.figures)
    return tuple(
        msgspec.structs.replace(
            entry,
            # What other results have, it was to have.
            absent={name: "not in the results" for name in measured if name not in entry.figures},
        )
        if entry.figures
        else entry
        for entry in entries
    )


def _results(
    path: Path, operator: str, listed: Any, ids: Sequence[str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """The results of one operator, each with its id; empty if there is not one for each."""
    if not isinstance(listed, list) or not all(isinstance(result, dict) for result in listed):
        raise RunFileError(f"{path}: not results by operator: {operator!r} has no list of results")
    yield from zip(listed, ids if len(ids) == len(listed) else [""] * len(listed), strict=True)


def _entry(path: Path, operator: str, result: dict[str, Any], selector: str) -> Entry:
    inputs, details = result.get("inputs", {}), result.get("details")
    shown = inputs if isinstance(inputs, dict) else {"inputs": inputs}
    details = details if isinstance(details, dict) else {}
    reason, found = "", result.get(VERIFICATION)
    if isinstance(found, dict) and found.get("code") in [code.value for code in WRONG]:
        reason = one_line(f"wrong result: {found.get('failed', '')}: {found.get('reason', '')}")
    return Entry(
        operator=operator,
        selector=selector,
        pattern=operator,
        inputs=arguments_text(shown, details),
        shown=shown_key(operator, inputs),
        details=details_key(details),
        reason=reason,
        figures={} if reason else _average_figures(path, operator, result),
    )


def details_key(details: Any) -> str:
    """The details of tensors in results by operator; empty without any."""
    return json.dumps(details, sort_keys=True, default=str) if details else ""


def _average_figures(path: Path, operator: str, result: dict[str, Any]) -> dict[str, Measurement]:
    """The figures by metric; for memory, that of the device with the largest peak."""
    found: dict[str, Measurement] = {}
    ranks: dict[str, dict[str, tuple[float, str]]] = {}
    for name, value in result.items():
        source = source_of(name, operator)
        if source is None or type(value) not in (int, float):
            continue
        metric, statistic = source
        measured = value * unit_of(metric.unit).size
        ranks.setdefault(metric.name, {})[statistic] = measured, name
        if metric.kind in NOT_NEGATIVE and measured < 0:
            raise RunFileError(f"{path}: {operator}: {name} is {value:g}, which is below zero")
        if statistic != "mean" and not metric.is_steady:
            continue
        if metric.name not in found or found[metric.name].median < measured:
            found[metric.name] = Measurement.of_average(metric, measured)
    for by_rank in ranks.values():
        known = [by_rank[rank] for rank in RANKS if rank in by_rank]
        for (below, low), (above, high) in pairwise(known):
            why = refused_order(low, below, high, above)
            if why:
                raise RunFileError(f"{path}: {operator}: {why}")
    return found


RANKS = ("median", "p90", "p99")
"""Statistics of which none is above a later one."""
