"""A run file as a history takes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from opperf.errors import RunFileError
from opperf.formats.figures import no_figure
from opperf.formats.model import WHOLE, Entry, Point, SeriesFacts, SeriesKey, Submission
from opperf.history.model import CommitsOf
from opperf.machine.environment import comparability
from opperf.model import MetricKind, Record, Run, Status, identity_of
from opperf.model.base import ID_LENGTH, digest
from opperf.model.runs import SELECTION
from opperf.plurals import pluralize
from opperf.repository import Checkout
from opperf.results.figures import CaseFigures, Measurement
from opperf.results.kept import display
from opperf.results.outliers import commands_for
from opperf.results.runfile import read_run
from opperf.results.settings import changed_settings_text
from opperf.results.text import inputs_text
from opperf.results.verifications import wrong_reason

OF_PYTHON = ("values", "swept_shapes", "sweeps")
"""Fields of a selection whose cases `--id` alone does not name."""


def read_submission(
    path: Path, checkout: Checkout, commits_of: CommitsOf, may_be_partial: bool = False
) -> tuple[Submission, list[str]]:
    """Returns a run file's figures, and what is doubtful about the file, a line each. Raises
    `RunFileError` for a file that is none, that has no record, or, unless it `may_be_partial`, of a
    run that was not finished."""
    run, warnings = read_run(path)
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to add")
    if run.closing is None and not may_be_partial:
        # As series that end there, and as outcomes that are missing, it would look like a change.
        left = len(set(run.planned) - {record.id for record in run.records})
        raise RunFileError(
            f"{path}: the run was not finished, or the file was cut short: "
            f"{pluralize(left, 'case')} without a record; finish it with `opperf run --resume "
            f"{display(path)}`, or add what it has with --partial"
        )
    keys = {
        name: comparability(environment, commits_of is CommitsOf.FRAMEWORK)
        for name, environment in run.environments.items()
    }
    first = next(iter(keys.values()), "")
    entries = tuple(
        entry
        for record in run.records
        for entry in _entries(run, record, keys.get(record.environment, first))
    )
    submission = Submission(
        id=run.header.id or digest(run.header)[:ID_LENGTH],
        commit=checkout.commit,
        branch=checkout.branch,
        is_dirty=checkout.is_dirty,
        started=seconds_of(path, run.header.started),
        entries=_last_of_each(entries),
        command=str(run.header.options.get("command", "")),
        labels=run.header.labels,
        environments={
            keys[name]: msgspec.to_builtins(environment)
            for name, environment in run.environments.items()
        },
    )
    return submission, warnings


def _last_of_each(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Returns one entry of each series: of a case that was retried the last."""
    return tuple({entry.key: entry for entry in entries}.values())


def seconds_of(path: Path, started: str) -> float:
    """Returns the time of a header, in seconds since 1970. Raises `RunFileError` without one."""
    try:
        return datetime.fromisoformat(started.replace("Z", "+00:00")).timestamp()
    except ValueError as error:
        raise RunFileError(
            f"{path}: its header has no time when it started: {started!r}"
        ) from error


def _entries(run: Run, record: Record, environment: str) -> Iterator[Entry]:
    case = record.case
    common: dict[str, Any] = {
        "name": case.label,
        "inputs": inputs_text(case),
        "settings": changed_settings_text(identity_of(case.settings)),
        "category": case.category,
        "framework": case.target.framework,
        "command": _command(run, record),
    }
    found = CaseFigures(record)
    if found.reason:
        status = "wrong" if record.status is Status.OK else record.status.value
        yield Entry(
            SeriesKey(record.id, WHOLE, environment),
            SeriesFacts(**common, unit="", kind=MetricKind.COUNT),
            Point(status=status, reason=wrong_reason(record) or record.reason),
        )
        return
    for name, figure in found.compared.items():
        if figure.metric.usual:
            yield Entry(
                SeriesKey(record.id, name, environment),
                _facts(figure, common),
                _point(figure) if figure.is_finite else no_figure(figure.median),
            )


def _command(run: Run, record: Record) -> str:
    """Returns the command that measures a case again; empty for one that no command names."""
    selection = run.header.options.get(SELECTION)
    if not record.case.pattern or not selection or any(map(selection.get, OF_PYTHON)):
        return ""
    return commands_for(run, record).get("run", "")


def _facts(found: Measurement, common: dict[str, Any]) -> SeriesFacts:
    metric = found.metric
    return SeriesFacts(
        **common,
        unit=found.unit,
        kind=metric.kind,
        lower_is_better=metric.lower_is_better,
        relative_tolerance=metric.relative_tolerance,
        absolute_tolerance=metric.absolute_tolerance,
    )


def _point(found: Measurement) -> Point:
    kept = tuple(map(float, found.samples)) if all(map(math.isfinite, found.samples)) else ()
    q25, q75 = np.quantile(kept, (0.25, 0.75)).tolist() if len(kept) > 1 else (math.nan, math.nan)
    low, high = found.interval or (math.nan, math.nan)
    return Point(
        n=found.summary.n, median=found.median, low=low, high=high, q25=q25, q75=q75, samples=kept
    )
