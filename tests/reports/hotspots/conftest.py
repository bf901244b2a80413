"""Runs of a recording, made by hand."""

from __future__ import annotations

import msgspec
import pytest

from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    BandwidthPeak,
    Case,
    DispatchPeak,
    MetricKind,
    Note,
    OperatorTarget,
    Peaks,
    ProductPeak,
    Record,
    Settings,
    Status,
    TensorSpec,
)
from tests.environments import make_environment
from tests.results.conftest import summary


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


PEAKS = Peaks(
    device="cpu(0)",
    measured="2026-01-02T03:04:05",
    bandwidths=(
        BandwidthPeak(level="L2", kernel="copy", threads=2, bytes=1_000, rate=1e11),
        BandwidthPeak(level="memory", kernel="copy", threads=2, bytes=0, rate=1e10),
    ),
    products=(ProductPeak(dtype="float32", threads=2, rate=1e11, by="x"),),
    dispatches=(DispatchPeak(framework="torch", ns=1_000),),
)
PEAKED = make_environment("torch", peaks=(PEAKS,))


def _peaked(run):
    return msgspec.structs.replace(run, environments={PEAKED.id: PEAKED})


@pytest.fixture
def peaked():
    """Gives a run the environment whose peaks are known."""
    return _peaked


@pytest.fixture
def working(seen):
    """Makes a record whose work is known: operations, and bytes by formula."""

    def made(name, us, count, flops=None, moved=0, by="formula", **more):
        record = seen(name, us, count, **more)
        counted = {} if flops is None else {"flops": summary(flops, "count")}
        return msgspec.structs.replace(
            record,
            summaries=record.summaries | counted,
            moved_bytes=moved,
            known_by={"moved_bytes": by} if moved or flops is not None else {},
            environment=PEAKED.id,
        )

    return made


@pytest.fixture
def known(working, of):
    """A run with peaks, of 1,000 us: of `mm` 300, `relu` 320, `view` 50, `zero` 200, `odd` 130."""
    run = of(
        # 1e7 operations of at least 100 us; 1 MB of at least 100 us, and 900 bytes of 0.009 us.
        working("mm", 150.0, 2, 1e7, 9_000),
        working("relu", 110.0, 2, 10.0, 1_000_000),
        working("relu", 10.0, 10, 10.0, 900, shape=(8,)),
        working("view", 5.0, 10, 0.0, 0),
        # 10 MB of at least 991 us.
        working("zero", 100.0, 2, 10.0, 10_000_000),
        working("odd", 130.0, 1),
    )
    return _peaked(run)
