"""Runs made by hand, and the files they are in."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from opperf import frameworks
from opperf.commands.compare import compare
from opperf.comparison.compared import Side
from opperf.comparison.files import judging
from opperf.comparison.files.reading import Entry, Measured, read
from opperf.errors import OpperfError
from opperf.instruments.profilers.summary import summarise
from opperf.metrics import metric_named
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    Closing,
    Header,
    MetricKind,
    Note,
    OperatorTarget,
    Record,
    Run,
    Settings,
    Status,
    TensorSpec,
)
from opperf.reports.writing import write
from opperf.results.figures import Measurement
from tests.environments import make_environment

ENVIRONMENT = {
    "framework": "mxnet",
    "versions": {"mxnet": "1.9.1"},
    "features": {"MKLDNN": True},
    "threads": {"OMP_NUM_THREADS": "2"},
}
"""Facts that differ from those of most tests' environments."""

KINDS = {"native": MetricKind.KERNEL, "python": MetricKind.WALL}
"""Of the times of the profilers in these tests."""


def _record(
    name="relu",
    factor=1.0,
    *,
    shape=(4, 4),
    samples=20,
    status=Status.OK,
    reason="",
    memory=1e6,
    backward=True,
    notes=(),
    passes=("forward", "backward"),
    category="unary",
    **settings,
):
    """A record whose times scatter by a percent around so many times 1 ms."""
    case = Case(
        target=OperatorTarget("mxnet", name),
        arguments={"data": TensorSpec(shape)},
        settings=Settings(**settings),
        passes=passes,
        category=category,
    )
    if status is not Status.OK:
        return Record(case=case, id=case.id, status=status, reason=reason)
    seed = [*name.encode(), int(1000 * factor)]
    drawn = np.random.default_rng(seed).lognormal(0.0, 0.01, samples)
    times = {"forward": (1e6 * factor * drawn).tolist()}
    if backward and "backward" in passes:
        times["backward"] = (2e6 * factor * drawn).tolist()
    summaries = {metric: summarise(values, "ns") for metric, values in times.items()}
    if memory is not None:
        summaries["memory"] = summarise([memory], "B")
    return Record(
        case=case,
        id=case.id,
        status=status,
        summaries=summaries,
        samples=times,
        notes=tuple(Note(*one) for one in notes),
        time_kind=KINDS[case.settings.profiler],
    )


def _run(*records, selection=None, finished=True, planned=None, **environment):
    header = Header(
        schema=SCHEMA_VERSION,
        started="2025-01-02T03:04:05+00:00",
        options={"selection": selection or {}},
    )
    closing = Closing("2025-01-02T03:05:05+00:00", 60.0, {}) if finished else None
    there = make_environment(**(ENVIRONMENT | environment))
    cases = tuple(record.case for record in planned or records)
    return Run(header, records, closing, {there.id: there}, cases)


@pytest.fixture
def record():
    """Makes a record."""
    return _record


@pytest.fixture
def run():
    """Makes a run of records."""
    return _run


@pytest.fixture
def saved(tmp_path):
    """Writes a run into a file, in the format of its name, and gives the path."""

    def save(run, name):
        path = tmp_path / name
        write(run, path, path.suffix.removeprefix("."))
        return path

    return save


@pytest.fixture
def asked(saved):
    """Compares two runs by way of their files."""

    def ask(base, new, extensions=("jsonl", "jsonl"), **question):
        files = [
            read(saved(run, f"{side}.{extension}"))
            for side, run, extension in zip(("base", "new"), (base, new), extensions, strict=True)
        ]
        return judging.compare(*files, judging.Question(**question))

    return ask


def _figure(value, unit="ns", samples=None, notes=(), **changed):
    if samples is None:
        samples = [value] * 9 if unit == "ns" else []
    metric = metric_named({"ns": "forward", "B": "memory"}.get(unit, unit), unit)
    summary = msgspec.structs.replace(summarise(samples or [value], unit), **changed)
    made = [Note(metric.name, code, text) for code, text in notes]
    return Measurement(metric, summary, samples, tuple(made))


def _entry(operator="relu", **changed):
    """A case that is told from others by its operator, with a forward time of 1 ms."""
    usual = {
        "inputs": "data: (4, 4)",
        "shown": operator,
        "pattern": operator,
        "id": f"id of {operator}",
        "call": f"call of {operator}",
        "category": "unary",
        "figures": {"forward": _figure(1e6)},
    }
    return Entry(operator=operator, **(usual | changed))


def _measured(*entries, path="some.jsonl", averages=False, selection=None, **environment):
    """A file of these cases; without an environment where nothing is given of it."""
    return Measured(
        Side(path, averages=averages),
        make_environment(**(ENVIRONMENT | environment)) if environment else None,
        entries,
        (),
        selection or {},
    )


@pytest.fixture(autouse=True)
def mxnet_is_preferred(monkeypatch):
    """A command without `--framework` takes MXNet, whatever is installed here."""
    monkeypatch.setattr(frameworks, "default_framework", lambda: "mxnet")


@pytest.fixture
def figure():
    """Makes a figure without scatter."""
    return _figure


@pytest.fixture
def entry():
    """Makes a case of one file."""
    return _entry


@pytest.fixture
def measured():
    """Makes a file of such cases, as it is after it was read."""
    return _measured


@pytest.fixture
def outcome():
    """Runs the command; the exit code, what it printed, and what it said beside that."""

    def invoke(*arguments):
        done = CliRunner().invoke(compare, [str(word) for word in arguments])
        if isinstance(done.exception, OpperfError):
            return done.exception.exit_code, done.stdout, str(done.exception)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return invoke


@pytest.fixture
def compared(outcome):
    """The comparison of two files as JSON says it."""

    def invoke(*arguments):
        code, printed, _ = outcome(*arguments, "-f", "json", "--fail-on", "none")
        assert code == 0
        return json.loads(printed)

    return invoke
