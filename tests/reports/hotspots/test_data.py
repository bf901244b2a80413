"""The ranking of operators by count times time."""

import csv
import io
import json
import math
from unittest.mock import ANY

import msgspec
import pytest

from opperf.commands.run_files import report
from opperf.instruments.profilers.summary import summarise
from opperf.model import MetricKind, NoteCode, Status
from opperf.reports.hotspots.data import RANKINGS, find_hotspots
from opperf.reports.hotspots.ranking_report import answer
from opperf.reports.hotspots.times import time_of
from tests.recordings import called, recording, site
from tests.verifications import FAILED, verified
from tests.writing import ranked as written


def ranked(found):
    return [(one.name, one.calls, one.cases, one.time.value / 1e3) for one in found.rows]


def test_operators_are_ranked_by_count_times_time(program):
    found = find_hotspots([program])
    assert ranked(found) == [
        ("mm", 3, 2, 80.0),
        ("add.Scalar", 1, 1, 10.0),
        ("add.Tensor", 10, 1, 10.0),
    ]
    assert [one.share for one in found.rows] == pytest.approx([0.8, 0.1, 0.1])
    assert [one.running for one in found.rows] == pytest.approx([0.8, 0.9, 1.0])
    assert (found.calls, found.time.value) == (14, 100e3)


def test_overloads_together_and_cases_apart(program):
    operators = find_hotspots([program], by=("operator",))
    assert ranked(operators) == [("mm", 3, 2, 80.0), ("add", 11, 2, 20.0)]
    cases = find_hotspots([program], by=("case",))
    assert [one.time.value / 1e3 for one in cases.rows] == [60.0, 20.0, 10.0, 10.0]
    assert [one.name for one in cases.rows[:2]] == ["mm", "mm"]


def test_other_figures_rank_as_well(program):
    calls = find_hotspots([program], "calls", ("operator",))
    assert ranked(calls)[0] == ("add", 11, 2, 20.0)
    memory = find_hotspots([program], "memory")
    assert [one.name for one in memory.rows] == ["mm", "add.Tensor", "add.Scalar"]
    assert memory.rows[0].memory.value == 4096 and memory.rows[2].memory is None


def test_the_median_is_over_the_calls(program, seen, of):
    assert [one.median_ns for one in find_hotspots([program]).rows][0] == 30e3
    # Of four calls the second: 1 1 | 5 9.
    even = of(seen(us=1.0, count=2), seen(us=9.0, shape=(2,)), seen(us=5.0, shape=(3,)))
    assert find_hotspots([even]).rows[0].median_ns == 1e3


def test_both_passes_count(seen, of):
    found = find_hotspots([of(seen(us=1.0, count=3, backward_us=2.0))])
    assert found.time.value == 9e3 and found.rows[0].median_ns == 3e3


def test_a_wrong_result_has_no_rank(seen, of):
    found = find_hotspots([of(seen("add", us=1.0), verified(seen("exp", us=9.0), FAILED))])
    assert [spot.name for spot in found.rows] == ["add"]
    (unmeasured,) = found.unmeasured
    assert (unmeasured.status, unmeasured.reason) == ("wrong", "output: its error is 0.01")


def test_what_was_not_measured_is_named_with_its_calls(program):
    found = find_hotspots([program])
    assert [tuple(one) for one in found.unmeasured] == [
        ("svd", "failed", "no such kernel", "", 2, 1, ANY),
        ("gelu", "not run", "the run was not finished", "", 1, 1, ANY),
    ]
    assert found.unmeasured_calls == 3 and found.excluded == {"Custom": "needs a class"}


def test_what_was_not_measured_has_the_settings_that_tell_it_from_others(seen, of):
    modes = [seen("Net", count=2, status=Status.FAILED, mode=mode) for mode in ("aot", "inductor")]
    wrong = [msgspec.structs.replace(one, reason="wrong") for one in modes]
    found = find_hotspots([of(seen("Net", count=2, mode="eager"), *wrong)])
    rows = [(one.settings, one.calls, one.ids) for one in found.unmeasured]
    assert rows == [("mode aot", 2, (wrong[0].id,)), ("mode inductor", 2, (wrong[1].id,))]
    assert "Net 2 1 mode aot failed: wrong" in " ".join(written(found).split())
    kept = json.loads(written(found, None, "json"))["not_measured"]
    assert [one["settings"] for one in kept] == ["mode aot", "mode inductor"]
    lines = csv.DictReader(io.StringIO(written(found, None, "csv")))
    others = [row for row in lines if row["kind"] == "not measured"]
    assert [(row["settings"], row["id"]) for row in others] == [
        ("mode aot", wrong[0].id),
        ("mode inductor", wrong[1].id),
    ]


BUSY = [("forward", NoteCode.BUSY, "a thread waited for a core")]


def test_what_may_be_a_stall_leads_no_ranking(seen, of):
    # All of its samples are alike, as long as a scheduler's slices are.
    stalled = seen("div", 27_870.0, count=2, notes=BUSY)
    run = of(seen("mm", 50.0, count=2, notes=BUSY), stalled, seen("add", 1.0, count=2))
    found = find_hotspots([run])
    assert [(row.name, row.may_be_stall) for row in found.rows] == [
        ("mm", False),
        ("add", False),
        ("div", True),
    ]
    text = " ".join(written(found).split())
    assert "rank last: div. Measure again with `opperf run --threads 1`, or when" in text
    assert "**What to do:** Measure again with `opperf run --threads 1`" in answer(found)[1]
    assert json.loads(written(found, None, "json"))["hotspots"][2]["may_be_stall"] is True
    alone = of(seen("div", 27_870.0, count=2, notes=BUSY, threads=1))
    assert answer(find_hotspots([alone]))[1].endswith("Measure again when the machine is quiet.")
    # Its bytes or the program's own call explain as much.
    moving = msgspec.structs.replace(stalled, moved_bytes=10**8)
    case = msgspec.structs.replace(stalled.case, recorded=(20_000_000,) * 2)
    for one in (moving, msgspec.structs.replace(stalled, case=case)):
        assert find_hotspots([of(seen("mm", 50.0), one)]).rows[0].name == "div"


def test_samples_apart_by_an_order_of_magnitude_lead_no_ranking(seen, of):
    apart = msgspec.structs.replace(
        seen("div"), summaries={"forward": summarise([2e3] * 4 + [9e6] * 6, "ns")}
    )
    # A few waits leave the median as it is.
    outliers = msgspec.structs.replace(
        seen("mul"), summaries={"forward": summarise([9e3] * 6 + [9e6] * 2, "ns")}
    )
    found = find_hotspots([of(apart, outliers, seen("add", 1.0))])
    assert [row.name for row in found.rows] == ["mul", "add", "div"]


def test_a_time_that_is_not_there_or_not_finite_is_none(seen, of):
    nan = seen("nan", math.nan, 5)
    kernels = seen("view", None, 4, notes=[("forward", NoteCode.NO_KERNEL, "runs no kernel")])
    assert time_of(nan) is None and time_of(kernels) is None
    found = find_hotspots([of(seen(), nan, kernels)])
    assert [(one.operator, one.calls, one.reason) for one in found.unmeasured] == [
        ("nan", 5, "it has no finite time"),
        ("view", 4, "runs no kernel"),
    ]


def test_several_runs_are_added_up(seen, of):
    one, other = of(seen(us=1.0, count=2)), of(seen(us=3.0, count=4), seen("add", 2.0))
    found = find_hotspots([one, other])
    assert ranked(found) == [("mm", 6, 1, 14.0), ("add", 1, 1, 2.0)]
    assert found.repeated == 1 and find_hotspots([one]).repeated == 0


def test_operators_of_two_frameworks_are_two(seen, of):
    found = find_hotspots([of(seen(us=2.0)), of(seen(us=1.0, framework="numpy"))])
    assert [one.name for one in found.rows] == ["torch:mm", "numpy:mm"]
    found = find_hotspots(
        [of(seen(us=2.0), seen("add"), seen(us=1.0, framework="numpy"))], by=["dtype"]
    )
    assert [one.name for one in found.rows] == ["torch, float32", "numpy, float32"]


def test_cases_that_differ_in_a_setting_are_told_of_where_they_are_added_up(seen, of):
    run = of(seen(threads=1), seen(threads=2), seen("add", threads=2))
    found = find_hotspots([run])
    assert found.settings == ("threads",) and found.rows[0].cases == 2
    assert found.grouped == "Grouped together, though they differ in threads (1, 2)"
    apart = find_hotspots([run], by=("threads",))
    assert ranked(apart) == [("threads 2", 2, 2, 2.0), ("threads 1", 1, 1, 1.0)]
    assert apart.grouped == ""


def test_passes_can_be_ranked_apart(seen, of):
    found = find_hotspots([of(seen(us=1.0, count=3, backward_us=2.0))], by=("metric",))
    assert ranked(found) == [("backward", 3, 1, 6.0), ("forward", 3, 1, 3.0)]
    assert (found.calls, found.time.value) == (3, 9e3)


def test_kinds_of_times_and_launches(seen, of):
    bound = [("forward", NoteCode.LAUNCH_BOUND, "short")]
    found = find_hotspots(
        [of(seen(us=3.0), seen("relu", 1.0, notes=bound, kind=MetricKind.KERNEL))]
    )
    assert found.kinds == (MetricKind.WALL, MetricKind.KERNEL) and found.launches == 0.25


def test_times_of_zero_have_no_share(seen, of):
    found = find_hotspots([of(seen(us=0.0, count=3))])
    assert found.rows[0].share == 0.0 and found.time.value == 0


def test_a_sum_is_as_uncertain_as_its_largest_parts(seen, of):
    found = find_hotspots([of(seen(us=100.0, count=2), seen(us=1.0, shape=(2,), samples=1))])
    assert not found.time.unreliable and found.time.half_width is None
    found = find_hotspots([of(seen(us=1.0), seen(us=1.0, shape=(2,), samples=1))])
    assert found.time.unreliable
    exact = find_hotspots([of(seen(us=1.0, count=7))])
    assert exact.time.half_width == 0.0


def test_half_widths_grow_with_the_count(seen, of):
    one = seen(us=1.0, count=3)
    summary = msgspec.structs.replace(one.summaries["forward"], ci_low=960.0, ci_high=1030.0)
    one = msgspec.structs.replace(one, summaries={"forward": summary})
    assert find_hotspots([of(one)]).time.half_width == pytest.approx(3 * 40)


def test_every_ranking_is_in_the_help():
    (choices,) = (one.type.choices for one in report.params if one.name == "rank")
    assert tuple(choices) == tuple(RANKINGS)


@pytest.mark.parametrize("status", [Status.FAILED, Status.SKIPPED, Status.CRASHED, Status.TIMEOUT])
def test_only_measured_records_have_a_time(seen, status):
    assert time_of(seen(status=status, reason="no")) is None


def test_calls_that_a_recording_did_not_time_are_named():
    found = find_hotspots([recording(called("mm", site("a", 2)), called("jit", site("a")))])
    assert [tuple(entry) for entry in found.unmeasured] == [
        ("jit", "not timed", "the recording has no time of its calls", "", 1, 1, ANY)
    ]
    text = written(found)
    assert "Not timed, and in no share: 1 of 2 calls" in text and "Not measured" not in text
