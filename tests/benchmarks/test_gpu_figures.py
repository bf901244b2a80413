"""Figures from the run files of a GPU."""

import subprocess
from pathlib import Path

import pytest

from benchmarks.timers.gpu_figures import launches, profiled, ratios, state, statuses
from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    Case,
    GpuState,
    Note,
    NoteCode,
    OperatorTarget,
    Record,
    Settings,
    Status,
    TensorSpec,
)

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "timers" / "gpu_check.sh"


def record(name, profiler="python", status=Status.OK, reason="", notes=(), gpu=None, **times):
    case = Case(
        OperatorTarget("torch", name), {"self": TensorSpec((4,))}, Settings(profiler=profiler)
    )
    summaries = {metric: summarise([ns, ns], "ns") for metric, ns in times.items()}
    return Record(
        case=case,
        id=case.id,
        status=status,
        reason=reason,
        notes=notes,
        gpu=gpu,
        summaries=summaries,
    )


def test_ratios_are_of_the_same_cases():
    records = [
        record("exp", "native", forward=90.0, backward=50.0),
        record("exp", "python", forward=100.0),
        record("mm", "native", forward=110.0),
        record("mm", "python", forward=100.0),
        record("sort", "native", forward=5.0),
    ]
    assert list(ratios(records, "native", "python")) == [
        "native/python forward: median 1.000 of 2 cases, above 1: mm"
    ]
    assert list(ratios(records, "native", "events")) == []


def test_the_most_frequent_reasons_come_first():
    records = [record(name, status=Status.SKIPPED, reason="no kernel") for name in "ab"]
    records += [record("c", status=Status.FAILED, reason="refused"), *map(record, "defg")]
    assert list(statuses(records)) == ["4 ok, 2 skipped, 1 failed", "  2 no kernel", "  1 refused"]


def test_launches_are_counted_by_time():
    note = Note("forward", NoteCode.LAUNCH_BOUND, "short")
    records = [record("exp", notes=(note,), forward=1.0, backward=2.0), record("mm", forward=3.0)]
    assert launches(records) == "launch-bound  1 of 3 (33.3%) times"


def test_the_state_is_that_of_all_cases():
    low = GpuState(readings=2, lowest_mhz=1200, highest_mhz=1500, temperature_c=50)
    high = GpuState(
        readings=2,
        throttled=1,
        reasons=("power cap",),
        lowest_mhz=1400,
        highest_mhz=1980,
        temperature_c=70,
    )
    assert state([record("exp", gpu=low), record("mm", gpu=high), record("sort")]) == (
        "clocks 1200 to 1980 MHz, up to 70 °C; lowered in 1 of 2 (50.0%) cases power cap"
    )
    assert "pip install" in state([record("exp")])


def test_times_by_ncu_are_beside_those_of_the_same_run():
    note = Note("", NoteCode.NOT_PROFILED, "ncu has no figures of the forward pass: none")
    records = [
        record(
            "exp", "native", forward=100.0, ncu_time=150.0, backward=10.0, ncu_time_backward=10.0
        ),
        record("mm", forward=100.0, notes=(note,)),
    ]
    assert list(profiled(records)) == [
        "kernels by ncu in 2 of 3 (66.7%) passes",
        "ncu/native: median 1.250, from 1.000 (exp backward) to 1.500 (exp forward)",
        "  1 ncu has no figures of the forward pass: none",
    ]
    assert list(profiled([])) == ["kernels by ncu in 0 of 0 (0.0%) passes"]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_script_can_be_parsed(shell):
    subprocess.run([shell, "-n", SCRIPT], check=True)
