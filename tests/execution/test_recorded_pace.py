"""Paces of earlier runs: what is learnt of a run, and what the cache keeps."""

import pytest

from opperf.execution import forecast
from opperf.execution.forecast import (
    FEWEST_RECORDS,
    MOST_SLOWED,
    Paces,
    keep_paces,
    learn,
    load_paces,
)
from opperf.model import Record, Status


@pytest.fixture
def records(make_case):
    def made(number, wall_s=3.0, **options):
        cases = [make_case("relu", (n,)) for n in range(1, number + 1)]
        values = {"status": Status.OK, "wall_s": wall_s, **options}
        return [Record(case=case, id=case.id, **values) for case in cases]

    return made


def expected(case):
    return 2.0


def test_a_run_says_how_long_its_cases_and_others_take(records):
    own = records(FEWEST_RECORDS)
    found = learn(Paces(), own, 90.0, 0.01, expected)
    assert found.cases == {record.id: 1.5 for record in own}
    assert (found.usual, found.beside, found.gauge_s) == (1.5, 1.5, 0.01)
    # A short run says how long its own cases take.
    few = learn(Paces(usual=0.5), records(3), 90.0, 0.01, expected)
    assert (few.usual, few.beside, len(few.cases)) == (0.5, 1.0, 3)
    # Failures take other times, and several rounds are several visits.
    assert not learn(Paces(), records(3, status=Status.TIMEOUT), 9.0, 0.01, expected).cases
    assert set(learn(Paces(), records(1, rounds=3), 9.0, 0.01, expected).cases.values()) == {0.5}


def test_what_a_busy_machine_took_is_less_on_a_quiet_one(records):
    quiet = Paces(gauge_s=0.01)
    busy = learn(quiet, records(FEWEST_RECORDS), 60.0, 0.02, expected)
    assert busy.usual == pytest.approx(0.75) and busy.gauge_s == 0.01
    assert (busy.slowed(0.02), busy.slowed(0.001), busy.slowed(9.0)) == (2.0, 1.0, MOST_SLOWED)
    assert Paces().slowed(0.02) == 1.0


def test_the_cache_has_the_latest_paces(records, tmp_path, monkeypatch):
    monkeypatch.setattr(
        forecast, "cache_file", lambda kind, framework: tmp_path / f"{framework}.json"
    )
    monkeypatch.setattr(forecast, "MOST_CASES", 30)
    own = records(40)
    framework = own[0].case.target.framework
    assert load_paces(framework) == Paces()
    assert keep_paces(own[:25], 60.0, 0.01, expected) == []
    assert keep_paces(own[25:], 60.0, 0.01, expected) == []
    kept = load_paces(framework)
    assert list(kept.cases) == [record.id for record in own[10:]] and kept.usual == 1.5
    (tmp_path / f"{framework}.json").write_text("{")
    assert load_paces(framework) == Paces()
