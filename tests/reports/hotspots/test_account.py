"""What explains the time of a recorded program's step."""

import csv
import io
import json
import math

import msgspec
import pytest

from opperf.model import CompiledProgram, MetricKind
from opperf.reports.hotspots.account import accounts_of
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.places import places_of
from opperf.reports.hotspots.ranking_report import recording_of
from tests.recordings import THERE, called, measured, recording, site
from tests.writing import ranked

TIMES = {"mm": 5.0, "relu": 2.0}


@pytest.fixture
def timed():
    """A recording of two steps of 20 us, 40 us while recorded, of which operators took 16."""
    return recording(
        called("mm", site("a", 24, 4), shape=(2, 2)),
        called("relu", site("a", 4, 2), site("b", 4, 2, phase="backward")),
        steps=2,
        step_us=[20.0] * 20,
        recorded_us=[30.0, 50.0],
    )


def parts(run):
    (account,) = accounts_of([run])
    return [(one.key, one.time.value / 1e3, one.share) for one in account.parts]


def test_a_timed_recording_explains_the_recorded_step(timed):
    assert parts(timed) == [
        ("recorded_step", 40, 1),
        ("recorded_calls", 16, 0.4),
        ("between_recorded", 24, 0.6),
        ("step", 20, 1),
        ("recorded", 16, 0.8),
        ("unexplained", 4, pytest.approx(0.2)),
    ]


def test_measured_times_explain_the_step_and_recorded_ones_the_rest(timed):
    run = measured(timed, TIMES, environment=THERE)
    assert parts(run)[3:] == [
        ("step", 20, 1),
        ("measured", 14, 0.7),
        ("forward", 12, 0.6),
        ("backward", 2, 0.1),
        ("unexplained", 6, pytest.approx(0.3)),
        ("beyond_measured", 2, pytest.approx(0.1)),
        ("between", 4, pytest.approx(0.2)),
    ]


def test_the_recorded_time_stands_for_one_that_was_not_measured(timed):
    run = measured(timed, {"mm": 5.0}, environment=THERE)
    found = {key: time for key, time, _ in parts(run)}
    assert (found["measured"], found["only_recorded"], found["unexplained"]) == (10, 4, 6)


def test_times_of_another_machine_explain_nothing(timed):
    run = measured(timed, TIMES)
    assert parts(run) == parts(timed)
    untimed = msgspec.structs.replace(
        timed, cases=[msgspec.structs.replace(case, recorded=()) for case in timed.cases]
    )
    assert parts(measured(untimed, TIMES)) == []
    found = find_hotspots([run])
    text = " ".join(ranked(found, recording=recording_of(found, [run])).split())
    assert "Recorded by there, Another CPU Measured by here, A CPU" in text
    assert "measured by another machine than the program's" in text
    assert "mm 40.00 71.4 % 71.4 % 4 5.000 48.00" not in text
    assert "Recorded us" in text


def test_a_step_without_times_is_a_step():
    run = recording(called("mm", site("a")), step_us=[20.0, 20.0])
    assert parts(run) == [("step", 20, 1)]
    found = find_hotspots([run])
    text = " ".join(ranked(found, recording=recording_of(found, [run])).split())
    assert "1 call of 1 case, ranked by their number: they were neither timed" in text
    assert "cannot tell these apart" not in text


def test_the_step_of_a_trace_was_always_recorded(timed):
    header = timed.header
    program = msgspec.structs.replace(header.program, step=None)
    trace = msgspec.structs.replace(timed, header=msgspec.structs.replace(header, program=program))
    assert [key for key, _, _ in parts(trace)] == [
        "recorded_step",
        "recorded_calls",
        "between_recorded",
    ]
    found = {key: time for key, time, _ in parts(measured(trace, TIMES, environment=THERE))}
    assert (found["recorded_step"], found["measured"], found["between"]) == (40, 14, 24)


def test_what_the_first_step_and_the_last_calls_took_is_of_what_was_recorded(timed):
    # The program's start, and what followed its last step, took 100 us.
    header = timed.header
    program = msgspec.structs.replace(header.program, step=None, recorded_ns=180e3)
    run = msgspec.structs.replace(timed, header=msgspec.structs.replace(header, program=program))
    assert parts(run) == [
        ("recorded_step", 90, 1),
        ("recorded_calls", 16, pytest.approx(16 / 90)),
        ("between_recorded", 74, pytest.approx(74 / 90)),
    ]


def test_calls_of_a_place_without_a_time_take_none(timed):
    first, *others = timed.cases
    sites = (site("a", 24, 2), site("compiled", None, 2))
    mixed = msgspec.structs.replace(first, sites=sites, recorded=(12_000, 12_000))
    run = msgspec.structs.replace(timed, cases=(mixed, *others), records=())
    (account,) = accounts_of([run])
    assert parts(run)[1] == ("recorded_calls", 16, 0.4) and account.untimed == 2
    found = find_hotspots([run])
    places = places_of(found.timed, found)
    times = {place.site.module: place.time for place in places}
    assert times == {"a": 24e3 + 4e3, "b": 4e3, "compiled": 0}


def in_program(name, *args, **named):
    """A place in a compiled program."""
    return msgspec.structs.replace(site(*args, **named), program=name)


@pytest.fixture
def compiled():
    """Two steps of 100 us. One compiled program calls `mm` and has a kernel, as Inductor's; another
    fuses all that it calls, as XLA's."""
    return recording(
        called("mm", in_program("f", "a", 20, 2), shape=(2, 2)),
        msgspec.structs.replace(
            called("relu", site("a", 4, 2), in_program("g", "a", None, 2, phase="backward")),
            recorded=(2000, 2000),
        ),
        called("tanh", in_program("g", "a", None, 4), shape=(3, 3)),
        steps=2,
        step_us=[100.0] * 20,
        recorded_us=[100.0] * 2,
        compiled=(
            CompiledProgram("f", 2, 80e3, {"fused_0": 50e3}),
            CompiledProgram("g", 2, 60e3),
            CompiledProgram("h", 1, None),
        ),
    )


def test_the_time_of_compiled_programs_is_theirs_and_in_no_operators(compiled):
    assert parts(compiled) == [
        ("recorded_step", 100, 1),
        ("recorded_calls", 12, 0.12),
        ("recorded_compiled", 60, 0.6),
        ("between_recorded", 28, 0.28),
        ("step", 100, 1),
        ("recorded", 12, 0.12),
        ("compiled", 60, 0.6),
        # Without the operators that it calls.
        ("f", 30, 0.3),
        ("fused_0", 25, 0.25),
        ("g", 30, 0.3),
        ("unexplained", 28, 0.28),
    ]
    (account,) = accounts_of([compiled])
    assert account.untimed == 0


def test_measured_calls_in_a_compiled_program_are_in_its_time(compiled):
    run = measured(compiled, {"mm": 8.0, "relu": 5.0, "tanh": 20.0}, environment=THERE)
    found = {key: time for key, time, _ in parts(run)}
    assert (found["measured"], found["compiled"], found["unexplained"]) == (8 + 5, 60, 27)
    assert (found["beyond_measured"], found["between"]) == (-1, 28)
    assert found.keys().isdisjoint({"forward", "backward"})
    ranking = find_hotspots([run])
    recorded = recording_of(ranking, [run], {"tanh": 0.5})
    in_json = json.loads(ranked(ranking, None, "json", recording=recorded))["programs"][0]
    lines = csv.DictReader(io.StringIO(ranked(ranking, None, "csv", recording=recorded)))
    in_csv = [line for line in lines if line["kind"] == "part of a step"]
    assert [line["operator"] for line in in_csv] == [part["part"] for part in in_json["parts"]]
    assert {line["operator"]: line["time_ms"] for line in in_csv}["g"] == "0.03"
    assert in_json["compiled_programs"][0] == {
        "program": "f",
        "runs": 2,
        "time_ms": 0.08,
        "kernels_ms": {"fused_0": 0.05},
    }
    # It takes 40 of the 45 us that the calls in `g` take one by one, and `g` takes 30.
    (forecast,) = recorded.forecasts[0].rows
    assert forecast.time_ns == pytest.approx(30e3 * 40 / 45)
    text = " ".join(ranked(ranking, recording=recorded).split())
    assert "in compiled programs take 45.00 us of a step one by one, and 30.00 us fused" in text
    assert "1 compiled program, such as h, ran 1 time: they were not timed" in text
    assert "tanh a model.py:1 g forward" in text


def test_calls_that_compiled_programs_fuse_are_said_to_be_there(compiled):
    (fused,) = find_hotspots([compiled]).unmeasured
    assert fused.operator == "tanh" and "compiled programs fuse" in fused.reason


def test_what_was_not_timed_is_not_between_operators(compiled):
    others = [msgspec.structs.replace(case, recorded=()) for case in compiled.cases[:2]]
    untimed = msgspec.structs.replace(compiled, cases=(*others, *compiled.cases[2:]), records=())
    assert [key for key, _, _ in parts(untimed)][:3] == [
        "recorded_step",
        "recorded_compiled",
        "unexplained",
    ]


def test_an_unknown_step_is_said():
    run = recording(called("mm", site("a", 1)))
    found = find_hotspots([run])
    assert "The program's own time is unknown" in ranked(
        found, recording=recording_of(found, [run])
    )


def test_intervals_of_the_parts_are_in_what_is_left():
    run = recording(called("mm", site("a")), step_us=[20.0] * 5 + [22.0] * 5 + [24.0] * 5)
    (account,) = accounts_of([measured(run, {"mm": 5.0}, environment=THERE)])
    step, _, left = account.parts
    assert step.time.half_width == left.time.half_width and not math.isclose(
        0, left.time.half_width
    )


def test_dispatch_is_estimated_by_calls_that_move_nothing(timed):
    run = measured(timed, TIMES, environment=THERE, moved={"relu": 0})
    (account,) = accounts_of([run])
    assert account.dispatch_ns == 2000
    found = find_hotspots([run])
    text = " ".join(ranked(found, recording=recording_of(found, [run])).split())
    assert "about 8.000 us (40.0 %) of the operators' time is the dispatch of 4 calls" in text
    kernels = measured(timed, TIMES, environment=THERE, moved=0, kind=MetricKind.KERNEL)
    assert accounts_of([kernels])[0].dispatch_ns is None
    found = find_hotspots([kernels])
    text = " ".join(ranked(found, recording=recording_of(found, [kernels])).split())
    assert "times are those of kernels: dispatch, in the framework and in Python, is in" in text


def test_calls_that_the_file_lacks_are_said(timed):
    run = measured(timed, TIMES, environment=THERE, calls=20)
    found = find_hotspots([run])
    text = ranked(found, recording=recording_of(found, [run]))
    assert "The file has 8 of the 20 calls of the program" in " ".join(text.split())


def test_an_unknown_machine_is_said(timed):
    run = measured(timed, TIMES, machine="")
    found = find_hotspots([run])
    text = " ".join(ranked(found, recording=recording_of(found, [run])).split())
    assert "The program's machine is unknown: if another one measured the cases" in text
    assert "count x measured time 14.00" in text


def test_a_measured_backward_pass_is_of_its_phase_and_was_not_recorded(timed):
    run = measured(timed, TIMES, environment=THERE)
    first, *others = run.records
    summaries = {**first.summaries, "backward": first.summaries["forward"]}
    both = msgspec.structs.replace(first, summaries=summaries)
    run = msgspec.structs.replace(run, records=(both, *others))
    assert parts(run)[4:] == [
        ("measured", 24, 1.2),
        ("forward", 12, 0.6),
        ("backward", 12, 0.6),
        ("unexplained", -4, pytest.approx(-0.2)),
    ]
