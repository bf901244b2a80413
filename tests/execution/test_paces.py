"""Paces of earlier runs: what is learnt of a run, what later ones are then expected to take, and
what the cache keeps."""

import pytest

from opperf.execution import paces as module
from opperf.execution.executor import ISOLATED
from opperf.execution.forecast import case_s, seconds_of
from opperf.execution.paces import (
    COUNTED,
    FEWEST_RECORDS,
    MOST_SLOWED,
    MOST_VISIT_S,
    OUTLYING,
    TIMED,
    Learnt,
    Paces,
    keep_learnt,
    learn,
    load_learnt,
)
from opperf.model import Record, Status

QUIET = (0.01, 0.01)
"""Seconds of the gauge before and after a run on a quiet machine."""


@pytest.fixture
def records(make_case):
    def made(number, wall_s=3.0, first=1, name="relu", runs=10, **options):
        cases = [make_case(name, (n,), runs=runs) for n in range(first, first + number)]
        values = {"status": Status.OK, "wall_s": wall_s, **options}
        return [Record(case=case, id=case.id, **values) for case in cases]

    return made


@pytest.fixture
def run(records):
    """Returns the records of a run whose cases take twice what is expected, but for the `stalled`
    ones of them, which take two minutes, and the seconds of the run, `beside_s` among them."""

    def made(number, stalled=0, beside_s=0.0, **options):
        found = [
            Record(case=one.case, id=one.id, status=Status.OK, wall_s=2 * case_s(one.case))
            for one in records(number, **options)
        ]
        for place in range(stalled):
            case = found[place * number // stalled].case
            stall = Record(case=case, id=case.id, status=Status.OK, wall_s=120.0)
            found[place * number // stalled] = stall
        return found, sum(one.wall_s for one in found) + beside_s

    return made


def expected(case):
    return 2.0


@pytest.mark.parametrize(
    "number, stalled, beside_s",
    [(200, 0, 1.0), (200, 2, 1.0), (20, 0, 0.1), (20, 1, 0.1), (20, 0, 13.0), (20, 1, 13.0)],
)
@pytest.mark.parametrize("name", ["relu", "add"])
def test_the_run_after_takes_what_is_forecast(run, number, stalled, beside_s, name):
    # Of the same cases, of others, and of more of them, for which what is beside is the same.
    learnt = learn(Learnt(), *run(number, stalled, beside_s), QUIET, case_s)
    for more in (1, 50):
        later, elapsed_s = run(more * number, 0, beside_s, name=name)
        forecast = seconds_of([record.case for record in later], (), learnt)
        assert 0.5 < forecast.expected / elapsed_s < 2.0


def test_a_run_says_how_long_its_cases_and_others_take(records):
    own = records(FEWEST_RECORDS)
    found = learn(Learnt(), own, 90.0, QUIET, expected)
    assert found.of(COUNTED) == Paces({record.id: 1.5 for record in own}, 1.5, 1.0, 1.5)
    assert found.visit_s == MOST_VISIT_S and found.gauge_s == 0.01
    assert found.beside_s == pytest.approx(30.0 - FEWEST_RECORDS * MOST_VISIT_S)
    # What workers do side by side takes its time once.
    halves = learn(Learnt(), own, 30.1, QUIET, expected, lanes=2)
    assert halves.visit_s == pytest.approx(0.1 / FEWEST_RECORDS)
    assert halves.beside_s == pytest.approx(0.0)
    nodes = learn(Learnt(), own, 15.0, QUIET, expected)
    assert (nodes.of(COUNTED).usual, nodes.beside_s) == (pytest.approx(0.375), 0.0)
    # A short run says how long its own cases take.
    before = Learnt({COUNTED: Paces(usual=0.5)})
    few = learn(before, records(3), 90.0, QUIET, expected)
    assert (few.of(COUNTED).usual, few.beside_s, len(few.of(COUNTED).cases)) == (0.5, 0.0, 3)
    # Failures take other times, and several rounds are several visits.
    assert not learn(Learnt(), records(3, status=Status.TIMEOUT), 9.0, QUIET, expected).paces
    rounds = learn(Learnt(), records(1, rounds=3), 9.0, QUIET, expected)
    assert set(rounds.of(COUNTED).cases.values()) == {0.5}


def test_what_cases_with_a_number_of_calls_take_says_nothing_of_those_without(records):
    counted = learn(Learnt(), records(FEWEST_RECORDS), 60.0, QUIET, expected)
    assert set(counted.paces) == {COUNTED}
    both = learn(counted, records(FEWEST_RECORDS, 0.2, runs=None), 4.0, QUIET, expected)
    assert both.of(COUNTED) == counted.of(COUNTED) and both.of(TIMED).usual == pytest.approx(0.1)


def test_parts_of_a_run_say_how_much_other_operators_may_differ(records):
    own = [*records(50, 4.0), *records(50, 6.0, first=51), *records(100, 5.0, first=101)]
    paces = learn(Learnt(), own, 1000.0, QUIET, expected).of(COUNTED)
    assert (paces.usual, paces.low, paces.high) == pytest.approx((2.5, 2.0, 3.0))
    # Few of them do not: others may then take what is expected without them.
    few = learn(Learnt(), own[::2], 500.0, QUIET, expected).of(COUNTED)
    assert (few.usual, few.low, few.high) == pytest.approx((2.5, 1.0, 3.0))


def test_a_stall_is_no_pace_and_a_slow_case_is_known_when_it_is_seen_again(records):
    own = [*records(FEWEST_RECORDS - 1, 2.0), *records(1, 2e6, first=99)]
    learnt = learn(Learnt(), own, 2e6, QUIET, expected)
    paces = learnt.of(COUNTED)
    assert paces.usual < 2 and paces.high < 4
    assert paces.cases[own[-1].id] == pytest.approx(OUTLYING * paces.usual)
    # A case that takes sixty times what others do.
    slow = records(1, 120.0, first=99)
    for _ in range(2):
        learnt = learn(learnt, slow, 120.0, QUIET, expected)
    assert learnt.of(COUNTED).cases[own[-1].id] == pytest.approx(60.0)


def test_what_a_busy_machine_took_is_less_on_a_quiet_one(records):
    quiet = Learnt(gauge_s=0.01)
    busy = learn(quiet, records(FEWEST_RECORDS), 100.0, (0.01, 0.03), expected)
    assert busy.of(COUNTED).usual == pytest.approx(0.75) and busy.gauge_s == 0.01
    assert busy.beside_s + FEWEST_RECORDS * busy.visit_s == pytest.approx(20.0)
    assert (busy.slowed(0.02), busy.slowed(0.001), busy.slowed(9.0)) == (2.0, 1.0, MOST_SLOWED)
    assert Learnt().slowed(0.02) == 1.0


def test_the_cache_has_the_latest_paces(records, tmp_path, monkeypatch):
    monkeypatch.setattr(
        module, "cache_file", lambda kind, framework: tmp_path / f"{kind}-{framework}.json"
    )
    monkeypatch.setattr(module, "MOST_CASES", 30)
    own = records(40)
    framework = own[0].case.target.framework
    assert load_learnt(framework) == Learnt()
    assert keep_learnt(own[:25], 80.0, QUIET, expected) == []
    assert keep_learnt(own[25:], 60.0, QUIET, expected) == []
    # What is measured again is the latest.
    assert keep_learnt(own[10:11], 60.0, QUIET, expected) == []
    kept = load_learnt(framework).of(COUNTED)
    assert list(kept.cases) == [record.id for record in (*own[11:], own[10])]
    assert kept.usual == 1.5
    # A process for each case takes its time beside each.
    assert load_learnt(framework, ISOLATED) == Learnt()
    assert keep_learnt(own, 130.0, QUIET, expected, executor=ISOLATED) == []
    alone = load_learnt(framework, ISOLATED)
    assert (alone.visit_s, alone.beside_s) == (pytest.approx(0.25), 0.0)
    assert load_learnt(framework).of(COUNTED) == kept
    # One of another form, or that is damaged, is begun anew.
    for text in ('{"cases": {"a": 1.5}, "usual": 63.0}', '{"paces": 1}', "{"):
        (tmp_path / f"pace-{framework}.json").write_text(text)
        assert load_learnt(framework) == Learnt()
