"""A run made by hand, with every kind of record."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opperf.model import (
    SCHEMA_VERSION,
    Case,
    Closing,
    Header,
    MetricKind,
    OperatorTarget,
    Record,
    Run,
    Settings,
    Status,
    Summary,
    TensorSpec,
)
from tests.environments import make_environment

MakeRecord = Callable[..., Record]

KINDS = {"native": MetricKind.KERNEL, "python": MetricKind.WALL}
"""Of the times of the profilers in these tests."""


def summary(median: float, unit: str = "ns", **changed: float) -> Summary:
    values = {
        "mean": median * 1.1,
        "median": median,
        "min": median * 0.9,
        "max": median * 2,
        "p50": median,
        "p90": median * 1.5,
        "p99": median * 1.9,
        "mad": 1.0,
        "ci_low": median * 0.95,
        "ci_high": median * 1.05,
    }
    return Summary(unit=unit, n=20, **(values | changed))


def record(
    name: str = "relu",
    status: Status = Status.OK,
    shape: tuple[int, ...] = (1024, 1024),
    profiler: str = "native",
    summaries: dict[str, Summary] | None = None,
    reason: str = "",
    **arguments: object,
) -> Record:
    case = Case(
        target=OperatorTarget("mxnet", name),
        arguments={"data": TensorSpec(shape), **arguments},  # type: ignore[dict-item]
        settings=Settings(profiler=profiler),
        category="unary",
        origin="name table",
    )
    if summaries is None:
        summaries = (
            {
                "forward": summary(2_000_000),
                "backward": summary(3_000_000),
                "total": summary(5_000_000),
                "memory": summary(4_194_304.0, "B"),
            }
            if status is Status.OK
            else {}
        )
    return Record(
        case=case,
        id=case.id,
        status=status,
        summaries=summaries,
        reason=reason,
        time_kind=KINDS[profiler] if summaries else None,
    )


ENVIRONMENT = make_environment(
    "mxnet",
    versions={"mxnet": "1.9.1", "numpy": "1.26.4"},
    features={"MKLDNN": True, "CUDA": False},
    cpu="A | B",
    threads={"OMP_NUM_THREADS": "2"},
)


@pytest.fixture
def header() -> Header:
    return Header(
        schema=SCHEMA_VERSION,
        started="2025-01-02T03:04:05+00:00",
        options={
            "command": "run relu",
            "selection": {"size": "small", "exclude": [], "settings": {"runs": 50}},
        },
        excluded={"Proposal": "no rule", "Custom": "needs a class"},
    )


@pytest.fixture
def closing() -> Closing:
    return Closing(finished="2025-01-02T03:05:05+00:00", elapsed_s=60.0, counts={"ok": 2})


@pytest.fixture
def run(header: Header, closing: Closing) -> Run:
    records = (
        record("relu"),
        record("abs", shape=(64,), axis=None),
        record("relu", shape=(8,), summaries={"forward": summary(1500)}),
        record("argmax", Status.SKIPPED, reason="does not take int8"),
        record("argmin", Status.SKIPPED, reason="does not take int8"),
        record("svd", Status.CRASHED, reason="the worker died: signal 11 | core\ndumped"),
    )
    return Run(
        header=header,
        records=records,
        closing=closing,
        environments={ENVIRONMENT.id: ENVIRONMENT},
        cases=tuple(one.case for one in records),
    )


@pytest.fixture
def make_record() -> MakeRecord:
    return record


@pytest.fixture
def make_point() -> MakeRecord:
    """Returns a record of a sweep: its inputs follow from the values of `n` and `m`."""

    def made(
        name: str = "relu",
        time: float = 1000.0,
        n: int = 128,
        m: int | None = None,
        configuration: int = 0,
        moved: int = 0,
        status: Status = Status.OK,
        arguments: dict[str, object] | None = None,
        summaries: dict[str, Summary] | None = None,
        **settings: object,
    ) -> Record:
        shape = (16, n) if m is None else (m, n)
        case = Case(
            target=OperatorTarget("mxnet", name),
            arguments={"data": TensorSpec(shape), **(arguments or {})},  # type: ignore[dict-item]
            settings=Settings(**settings),  # type: ignore[arg-type]
            tags=(f"configuration {configuration}",),
            point={"n": n} if m is None else {"n": n, "m": m},
        )
        ok = status is Status.OK
        return Record(
            case=case,
            id=case.id,
            status=status,
            summaries=(summaries or {"forward": summary(time)}) if ok else {},
            reason="" if ok else "no luck",
            moved_bytes=moved,
            time_kind=MetricKind.KERNEL if ok else None,
            environment=ENVIRONMENT.id,
        )

    return made
