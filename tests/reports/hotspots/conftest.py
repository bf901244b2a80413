"""Runs of a recording, made by hand."""

from __future__ import annotations

import msgspec
import pytest

from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    Case,
    MetricKind,
    Note,
    OperatorTarget,
    Record,
    Settings,
    Status,
    TensorSpec,
)


def _seen(
    name="mm",
    us=1.0,
    count=1,
    *,
    overload="",
    shape=(4, 4),
    backward_us=None,
    memory=None,
    status=Status.OK,
    reason="",
    notes=(),
    framework="torch",
    samples=20,
    kind=MetricKind.WALL,
    **settings,
):
    """A record of a call that was seen so many times and takes so many microseconds."""
    case = Case(
        target=OperatorTarget(framework, name, overload),
        arguments={"self": TensorSpec(shape)},
        settings=Settings(**settings),
        count=count,
    )
    times = {"forward": us, "backward": backward_us} if status is Status.OK else {}
    summaries = {
        metric: summarise([1e3 * time] * samples, "ns")
        for metric, time in times.items()
        if time is not None
    }
    if memory is not None:
        summaries["memory"] = summarise([memory], "B")
    return Record(
        case=case,
        id=case.id,
        status=status,
        reason=reason,
        summaries=summaries,
        notes=tuple(Note(*one) for one in notes),
        time_kind=kind if summaries else None,
    )


@pytest.fixture
def seen():
    """Makes a record."""
    return _seen


@pytest.fixture
def of(run):
    """Makes a run of records, and of planned cases beside them."""

    def made(*records, planned=(), excluded=None):
        header = msgspec.structs.replace(run.header, excluded=excluded or {})
        cases = (*(record.case for record in records), *(record.case for record in planned))
        return msgspec.structs.replace(run, header=header, records=records, cases=cases)

    return made


@pytest.fixture
def program(seen, of):
    """A run of a recorded program: 100 us in all, in 14 measured calls; 3 calls have no time."""
    return of(
        seen("add", 1.0, 10, overload="Tensor", shape=(8,), memory=64.0),
        seen("mm", 30.0, 2, shape=(64, 64), memory=4096.0),
        seen("mm", 20.0, 1, shape=(8, 8), memory=256.0),
        seen("add", 10.0, 1, overload="Scalar", shape=(8,)),
        seen("svd", count=2, status=Status.FAILED, reason="no such kernel"),
        planned=[seen("gelu", count=1)],
        excluded={"Custom": "needs a class"},
    )
