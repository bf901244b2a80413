"""How long a run takes: the arithmetic of the forecast, by the plan and the records so far."""

import msgspec
import pytest

from opperf.defaults import MIN_RUNS, WARMUP_SHARE
from opperf.execution.forecast import (
    CALL_S,
    CASE_S,
    FIRST_CALLS,
    FORWARD_SHARE,
    WORTH_SAYING_S,
    Forecast,
    Seconds,
    case_s,
    forecast,
    quick_cases,
    rough_duration,
    seconds_of,
)
from opperf.execution.paces import COUNTED, FEWEST_RECORDS, TIMED, Learnt, Paces
from opperf.model import Record, Status
from opperf.requests.measuring import QUICK, quick_settings

BOTH = ("forward", "backward")
MILLION = (1000, 1000)
"""Elements of which a call takes `CALL_S`."""

AROUND_S = CASE_S + FIRST_CALLS * CALL_S
"""Seconds of such a case beside its timing."""


@pytest.fixture
def case(make_case):
    def made(name="relu", shape=MILLION, passes=BOTH, **settings):
        settings = {"warmup": None, "runs": None, "max_time_s": None, **settings}
        return make_case(name, shape, passes, **settings)

    return made


def total_s(*given):
    return seconds_of(*given).expected


@pytest.mark.parametrize(
    "settings, timed_s",
    [
        ({"max_time_s": 1.0}, 1.0 + WARMUP_SHARE),
        ({"max_time_s": 0.31, "warmup": 3}, 0.31 * (1 + WARMUP_SHARE)),
        ({"runs": 50}, 50 * CALL_S),
        ({"runs": 50, "warmup": 10}, 60 * CALL_S),
        ({"runs": 50, "max_time_s": 0.1}, 0.1 * (1 + WARMUP_SHARE)),
        ({"runs": 5, "max_time_s": 10.0}, 5 * CALL_S),
        # A median has a few samples in any time.
        ({"max_time_s": 1e-6}, MIN_RUNS * CALL_S),
    ],
)
def test_a_case_is_timed_for_its_calls_or_its_time(case, settings, timed_s):
    assert case_s(case(**settings)) == pytest.approx(AROUND_S + timed_s)


def test_a_call_takes_longer_with_more_elements_and_less_without_a_backward_pass(case):
    def timed(**options):
        return case_s(case(runs=1000, **options)) - CASE_S

    assert timed(passes=("forward",)) == pytest.approx(FORWARD_SHARE * timed())
    assert timed(shape=(4000, 1000)) > 4 * timed()
    assert case_s(case(shape=(0,), runs=10)) == pytest.approx(CASE_S)


def test_records_of_other_cases_correct_the_forecast_if_they_are_enough(case):
    cases = [case(shape=(number, 10**6)) for number in range(1, FEWEST_RECORDS + 3)]

    def record(one, factor, status=Status.OK, rounds=1):
        wall_s = rounds * factor * case_s(one)
        return Record(case=one, id=one.id, status=status, wall_s=wall_s, rounds=rounds)

    records = [record(one, 2.0, rounds=1 + n % 2) for n, one in enumerate(cases)]
    remaining = [case(max_time_s=1.0)] * 3
    expected = 3 * (AROUND_S + 1.0 + WARMUP_SHARE)
    assert total_s(remaining) == pytest.approx(expected)
    assert total_s(remaining, records) == pytest.approx(2 * expected)
    # Too few say nothing, and those that did not end ok took another time.
    assert total_s(remaining, records[: FEWEST_RECORDS - 1]) == pytest.approx(expected)
    failed = [record(case("add", (n,)), 100.0, Status.TIMEOUT) for n in range(1, 50)]
    assert total_s(remaining, [*records, *failed]) == pytest.approx(2 * expected)


def test_a_cases_own_record_corrects_its_forecast(case):
    slow, other = case("relu"), case("add")
    own = Record(case=slow, id=slow.id, status=Status.OK, wall_s=30.0)
    assert total_s([slow, other], [own]) == pytest.approx(30.0 + case_s(other))
    # The number of calls is no part of the id.
    few, many = case("relu", runs=10), case("relu", runs=1000)
    own = Record(case=few, id=few.id, status=Status.OK, wall_s=2 * case_s(few))
    assert total_s([many], [own]) == pytest.approx(2 * case_s(many))


def test_paces_of_earlier_runs_are_those_of_the_forecast_and_of_the_machine_as_it_is_now(case):
    known, other = case("relu", max_time_s=1.0), case("add", max_time_s=1.0)
    paces = Paces({known.id: 0.5}, usual=0.2, low=0.1, high=0.6)
    learnt = Learnt({TIMED: paces}, visit_s=0.01, beside_s=7.0, gauge_s=0.01)
    expected = case_s(known)
    found = seconds_of([known, other], (), learnt)
    assert found == pytest.approx([7.02 + pace * expected for pace in (0.6, 0.7, 1.1)])
    assert seconds_of([known], (), learnt, 0.02) == pytest.approx([2 * (7.01 + 0.5 * expected)] * 3)
    # A machine that is quieter than before is none that takes less.
    assert total_s([known], (), learnt, 0.005) == total_s([known], (), learnt, 0.01)
    # Side by side.
    assert total_s([known] * 4, (), learnt, 0.0, 2) == pytest.approx(7.04 + expected)
    # Cases with a number of calls have other paces.
    counted = case("relu", runs=1000)
    assert total_s([counted], (), learnt) == pytest.approx(7.01 + case_s(counted))
    assert total_s([], (), learnt) == 7.0


def test_what_a_run_takes_beside_its_cases_is_added_once_to_its_own_records(case):
    cases = [case(shape=(number, 10**5), runs=10) for number in range(101, 141)]
    own = [Record(case=one, id=one.id, status=Status.OK, wall_s=0.5) for one in cases[:20]]
    learnt = Learnt({COUNTED: Paces(usual=9.0, low=9.0, high=9.0)}, beside_s=30.0)
    # The pace of what was measured here is that of the machine now, whatever the gauge says.
    assert total_s(cases[:20], own, learnt) == pytest.approx(30.0 + 10.0)
    # Nor does a stalled one make the visits of the next round as long.
    stalled = [*own[:-1], msgspec.structs.replace(own[-1], wall_s=600.0)]
    assert total_s(cases[:20], stalled, learnt) < 30.0 + 20.0
    pace = 10.0 / sum(map(case_s, cases[:20]))
    assert total_s(cases, own, learnt) == pytest.approx(30.0 + pace * sum(map(case_s, cases)))


def test_a_pace_that_other_operators_may_not_have_makes_a_range(case):
    many = [case("add", (1000 + n, 1000), max_time_s=1.0) for n in range(900)]

    def text(**values):
        learnt = Learnt({TIMED: Paces(**values)} if values else {})
        return forecast(many, 1, None, (), learnt).text()

    precise = "if its cases are soon precise,"
    assert text() == f"900 cases: the run takes from about 6 min, {precise} up to about 19 min"
    sure = text(usual=0.5, low=0.4, high=0.6)
    assert sure == "900 cases: the run takes about 10 min"
    unsure = text(usual=0.5, low=0.2, high=0.78)
    assert unsure == f"900 cases: the run takes from about 4 min, {precise} up to about 15 min"
    # What the cases themselves took is known.
    assert text(cases={one.id: 0.5 for one in many}, usual=0.5, low=0.2, high=0.78) == sure


def test_quick_measures_the_first_case_of_each_operator_and_combination(case):
    cases = [
        case("relu", (4,)),
        case("relu", (8,)),
        case("relu", (16,), phase="train"),
        case("relu", (4,), dtype="float64"),
        case("add", (4,)),
    ]
    found = quick_cases(cases, quick_settings({"runs": 7}))
    assert [(one.label, one.settings.dtype) for one in found] == [
        ("relu", "float32"),
        ("relu", "float64"),
        ("add", "float32"),
    ]
    settings = found[0].settings
    assert settings.warmup == QUICK["warmup"] and settings.max_time_s == QUICK["max_time_s"]
    # The user's own option counts; the case has it already.
    assert settings.runs is None


def test_the_forecast_of_a_plan(case):
    # Two rounds of two hundred cases of two operators.
    cases = [case(name, (1000, 1000 + n)) for name in ("add", "relu") for n in range(100)]
    limited = [
        msgspec.structs.replace(one, settings=msgspec.structs.replace(one.settings, max_time_s=1.0))
        for one in cases
    ]
    made = forecast([*limited, *limited], 2, quick_settings({}))
    assert (made.cases, made.quick_cases) == (200, 2)
    soon_s = sum(case_s(one, is_soon_precise=True) for one in limited)
    assert made.seconds.least == pytest.approx(2 * soon_s) and soon_s < made.seconds.most / 4
    counted = [case(shape=(1000, 1000 + n), runs=5) for n in range(100)]
    known = forecast(counted, 1, None)
    assert len(set(known.seconds)) == 1 and not known.may_be_precise
    assert made.seconds.expected == made.seconds.most == pytest.approx(2 * total_s(limited))
    assert made.quick_s == pytest.approx(
        2 * total_s(quick_cases([limited[0], limited[100]], quick_settings({})))
    )
    assert made.text().endswith(
        "up to about 9 min; --quick measures 2 of them, the first of each operator, in less "
        "than 1 min"
    )
    without = forecast(limited, 1, None)
    assert without.text() == (
        "200 cases: the run takes from about 1 min, if its cases are soon precise, up to about "
        "5 min"
    )


@pytest.mark.parametrize(
    "made, text",
    [
        (Forecast(9, Seconds(9.0, 9.0, WORTH_SAYING_S), 1, 1.0), ""),
        (Forecast(9, Seconds(61.0, 119.0, 121.0)), ""),
        (Forecast(1, Seconds(121.0, 121.0, 121.0)), "1 case: the run takes about 3 min"),
        (
            Forecast(9, Seconds(60.0, 90.0, 121.0)),
            "9 cases: the run takes from about 1 min up to about 3 min",
        ),
        (
            Forecast(9, Seconds(30.0, 121.0, 121.0), may_be_precise=True),
            "9 cases: the run takes from less than 1 min, if its cases are soon precise, up to "
            "about 3 min",
        ),
        # What is no shorter is no advice.
        (Forecast(9, Seconds(121.0, 121.0, 121.0), 9, 121.0), "9 cases: the run takes about 3 min"),
        (
            Forecast(1960, Seconds(870.0, 870.0, 870.0), 608, 97.0),
            "1960 cases: the run takes about 15 min; --quick measures 608 of them, the first "
            "of each operator, in about 2 min",
        ),
    ],
)
def test_the_forecast_in_words(made, text):
    assert made.text() == text


@pytest.mark.parametrize(
    "seconds, text",
    [
        (30.0, "less than 1 min"),
        (31.0, "about 1 min"),
        (60.0, "about 1 min"),
        (61.0, "about 2 min"),
        (59 * 60.0, "about 59 min"),
        (59.5 * 60, "about 1 h 00 min"),
        (61 * 60.0, "about 1 h 10 min"),
        (10 * 3600.0, "about 10 h 00 min"),
    ],
)
def test_a_rough_duration_is_rounded_up(seconds, text):
    assert rough_duration(seconds) == text
