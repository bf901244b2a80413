"""Recordings made by hand, as `opperf record` writes them, and runs that measured them."""

from __future__ import annotations

import msgspec

from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    SCHEMA_VERSION,
    CallSite,
    Case,
    Header,
    MetricKind,
    OperatorTarget,
    Program,
    Record,
    Run,
    Status,
    TensorSpec,
)
from tests.environments import make_environment

US = 1000

HERE = make_environment(hostname="here")

THERE = make_environment(hostname="there", cpu="Another CPU")


def site(module="", us=None, count=1, *, file="model.py", line=1, phase="forward", function=""):
    """A place; the time is that of all its calls."""
    time = None if us is None else us * US
    return CallSite(module, file, line, function, phase, count, time)


def called(name, *sites, overload="", shape=(8, 8)):
    """A case of the calls at some places, timed where all of these are."""
    times = [one.time_ns for one in sites]
    count = sum(one.count for one in sites)
    return Case(
        target=OperatorTarget("torch", name, overload),
        arguments={"self": TensorSpec(shape)},
        passes=("forward",),
        count=count,
        sites=sites,
        recorded=()
        if None in times
        else tuple(round(one.time_ns / one.count) for one in sites for _ in range(one.count)),
    )


def recording(*cases, steps=1, step_us=None, recorded_us=None, environment=THERE, **program):
    """A recording of these cases, with records where they were timed. `step_us` are times of steps,
    as are `recorded_us` of those that were recorded."""

    def summary(times):
        return None if times is None else summarise([time * US for time in times], "ns")

    return Run(
        header=Header(
            schema=SCHEMA_VERSION,
            started="2025-01-02T03:04:05+00:00",
            options={},
            program=Program(
                **{"command": "train.py", "framework": "torch", "steps": steps} | program,
                step=summary(step_us),
                recorded_step=summary(recorded_us),
            ),
        ),
        cases=cases,
        records=tuple(
            Record(
                case=case,
                id=case.id,
                status=Status.OK,
                summaries={"recorded": summarise(list(case.recorded), "ns")},
                environment=environment.id,
            )
            for case in cases
            if case.recorded
        ),
        environments={environment.id: environment},
    )


def measured(run, us, *, kind=MetricKind.WALL, environment=HERE, moved=1024, **program):
    """The run that measured the cases of a recording: `us` are times of a call by operator; cases
    of others failed. `moved` are the bytes that calls move."""

    def record(case):
        time = us.get(case.label)
        if time is None:
            return Record(case=case, id=case.id, status=Status.FAILED, reason="no such kernel")
        summaries = {"forward": summarise([time * US] * 20, "ns")}
        if case.recorded:
            summaries["recorded"] = summarise(list(case.recorded), "ns")
        return Record(
            case=case,
            id=case.id,
            status=Status.OK,
            summaries=summaries,
            time_kind=kind,
            moved_bytes=moved.get(case.label, 1024) if isinstance(moved, dict) else moved,
            environment=environment.id,
        )

    facts = {"machine": "there, Another CPU", "calls": sum(case.count for case in run.cases)}
    program = msgspec.structs.replace(run.header.program, **facts | program)
    return msgspec.structs.replace(
        run,
        header=msgspec.structs.replace(run.header, program=program),
        records=tuple(map(record, run.cases)),
        environments={environment.id: environment},
    )


def transformer(layers=4, is_timed=True, **options):
    """A recording of two steps of a model of several layers: 40 us of a step of 100 us."""

    def place(module, us, line, phase="forward", count=2):
        return site(module, us if is_timed else None, count, line=line, phase=phase)

    inner = [f"encoder.layer.{number}" for number in range(layers)]
    linear = [
        place(f"{layer}.{name}", 4, line)
        for layer in inner
        for name, line in (("attention.query", 10), ("output.dense", 20))
    ]
    return recording(
        called("embedding", place("embedding", 4, 3)),
        called("addmm", *linear),
        called("gelu", *(place(layer, 2, 30) for layer in inner), shape=(4, 4)),
        called(
            "mm",
            *(place(f"{layer}.output.dense", 6, 20, "backward") for layer in inner),
            shape=(2, 8),
        ),
        called("_foreach_add_", place("", 12, 99, "optimizer"), shape=(3, 3)),
        **{"steps": 2, "step_us": [100.0] * 20, "recorded_us": [200.0] * 20} | options,
    )
