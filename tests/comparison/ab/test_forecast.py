"""How long a session takes, and what fits into a budget."""

import msgspec
import pytest

from opperf.comparison.ab.arms import COARSE_TIME_S
from opperf.comparison.ab.forecast import (
    Forecast,
    Stage,
    check_budget,
    coarse_saving_s,
    forecast_of,
    forecast_text,
    parts_of,
    spent,
)
from opperf.comparison.ab.process import Process
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR
from opperf.errors import UsageError
from opperf.instruments.compilation import FIRST_CALL
from opperf.instruments.profilers.summary import summarise
from opperf.model import Place, ProcessLine, Settings, Waits
from opperf.sources.selecting import Selection
from opperf.statistics.data import Thresholds
from opperf.worker.measure import measure
from tests.comparison.ab.sessions import case, ok, session_of

SHORT = Thresholds(control_blocks=2, block_cap=6)
TEN = Forecast({f"case{number}": 1.2 for number in range(10)}, start_s=3.5, later_start_s=1.5)
"""Ten cases of a second each, without anything beside it."""


def test_a_stage_takes_its_processes_and_their_visits():
    assert TEN.stage_s(Stage("comparison", 0, 3, ())) == pytest.approx(4 * 3 * (2 + 12))
    some = Stage("comparison", 4, 3, ("case1 forward", "case1 backward", "case2 forward"))
    assert TEN.stage_s(some) == pytest.approx(4 * 3 * (2 + 2.4))


def test_the_first_process_of_a_block_takes_longer_to_start():
    cases = [case(f"case{number}", ("forward",)) for number in range(10)]
    session = session_of(
        *cases,
        selection=Selection(settings=Settings(max_time_s=1.0)),
        visit_s=dict.fromkeys((one.id for one in cases), 1.2),
        start_s=3.5,
        later_start_s=1.5,
    )
    assert TEN.starts_s("comparison") == pytest.approx(3.5 + 3 * 1.5)
    for block, position, arm, start_s in (
        (0, 0, "A", 3.5),
        (0, 1, "B", 1.5),
        (0, 2, "B", 1.5),
        (1, 0, "B", 3.5),
    ):
        line = ProcessLine(Place("comparison", block, position, arm, arm), "", 2 * (start_s + 12))
        session.add(line, map(ok, session.cases_of(arm).values()))
    assert forecast_of(session).factor == pytest.approx(2.0)


def test_a_stage_has_the_times_of_its_cases():
    cases = [case(f"case{number}", ("forward",)) for number in range(2)]
    session = session_of(
        *cases,
        selection=Selection(settings=Settings(max_time_s=1.0)),
        visit_s=dict.fromkeys((one.id for one in cases), 1.3),
        start_s=3.5,
        later_start_s=1.5,
        allocates=True,
    )
    for block, wall_s in ((0, 2 * 3.5), (4, 100.0)):
        line = ProcessLine(Place("comparison", block, 0, "A", "A"), "", wall_s + 2 * 2.6)
        session.add(line, map(ok, session.cases_of("A").values()))
    times = {cases[0].id: 2.0, cases[1].id: 0.5}
    found = forecast_of(session, times)
    # What was measured for other times says nothing of these.
    assert found.factor == pytest.approx(2.0)
    assert found.visit_s == pytest.approx({cases[0].id: 1.3 + 1.2, cases[1].id: 1.3 - 0.6})


COARSE = Thresholds(control_blocks=2, block_cap=6, coarse_blocks=3)
WITH_COARSE = Forecast(TEN.visit_s, TEN.start_s, TEN.later_start_s, coarse_saving_s=0.9)


def test_the_coarse_look_is_a_part_of_the_time():
    # Its workers start once, for all of its blocks.
    coarse_s = 3.5 + (4 * 3 - 1) * 1.5 + 4 * 3 * 10 * (1.2 - 0.9)
    assert WITH_COARSE.total_s(COARSE) == pytest.approx(TEN.total_s(SHORT) + coarse_s)
    assert WITH_COARSE.total_s(SHORT) == TEN.total_s(SHORT)
    assert forecast_text(WITH_COARSE, COARSE).startswith(
        "24 processes up to the first look take about 5 min 36 s, 12 with all threads about 56 s; "
        "ambiguous cases"
    )


def test_what_fits_with_a_coarse_look():
    with pytest.raises(UsageError) as caught:
        check_budget(WITH_COARSE, COARSE, 1.0, 410.0)
    advice = str(caught.value)
    assert advice.endswith(
        "8 cases of 10 or --case-time 0.86 or --threads without all or 4 blocks at most would fit"
    )
    check_budget(WITH_COARSE, SHORT, 1.0, 410.0)
    eight = {str(number): 1.2 for number in range(8)}
    check_budget(Forecast(eight, 2.0, 2.0, coarse_saving_s=0.9), COARSE, 1.0, 410.0)
    shorter = dict.fromkeys(TEN.visit_s, 1.2 * 0.85)
    saving_s = 0.9 - 1.2 * (1 - 0.85)
    check_budget(Forecast(shorter, 2.0, 2.0, coarse_saving_s=saving_s), COARSE, 0.85, 410.0)


def test_the_coarse_look_shortens_the_time_of_a_case():
    assert coarse_saving_s(1.0) == pytest.approx(WARMUP_FACTOR * (1.0 - COARSE_TIME_S))
    assert coarse_saving_s(COARSE_TIME_S / 2) == 0.0


def test_half_of_the_figures_count_after_the_first_look():
    assert TEN.first_look_s(SHORT) == pytest.approx(4 * (2 + 4) * (2 + 12))
    assert TEN.rest_s(SHORT) == pytest.approx(4 * 2 * (2 + 12 / 2))
    assert TEN.rest_s(Thresholds(block_cap=3)) == 0.0


def test_a_forecast_is_corrected_by_what_was_seen():
    slower = msgspec.structs.replace(TEN, factor=1.5)
    assert slower.total_s(SHORT) == pytest.approx(1.5 * TEN.total_s(SHORT))


def test_the_whole_in_words():
    assert forecast_text(TEN, SHORT) == (
        "24 processes up to the first look take about 5 min 36 s; ambiguous cases then take up "
        "to 8 processes more, about 1 min 04 s"
    )
    assert forecast_text(TEN, Thresholds(control_blocks=2, block_cap=3)) == (
        "20 processes up to the first look take about 4 min 40 s"
    )


def test_what_fits_is_not_refused():
    check_budget(TEN, SHORT, 1.0, None)
    check_budget(TEN, SHORT, 1.0, 400.0)


def test_what_does_not_fit_is_refused_with_what_would():
    with pytest.raises(UsageError) as caught:
        check_budget(TEN, SHORT, 1.0, 300.0)
    assert str(caught.value) == (
        "the session would take about 6 min 40 s and --budget allows 5 min 00 s: "
        "7 cases of 10 or --case-time 0.7 or 3 blocks at most would fit"
    )
    # They do.
    check_budget(Forecast({str(n): 1.2 for n in range(7)}, 2.5, 1.5), SHORT, 1.0, 300.0)
    check_budget(Forecast({str(n): 1.2 * 0.7 for n in range(10)}, 2.5, 1.5), SHORT, 0.7, 300.0)
    check_budget(TEN, Thresholds(control_blocks=2, block_cap=3), 1.0, 300.0)


def test_a_case_time_that_fits_is_rounded_down():
    with pytest.raises(UsageError, match=r"--case-time 0\.86 or"):
        check_budget(TEN, SHORT, 1.0, 355.0)


def test_a_budget_that_no_single_change_meets():
    with pytest.raises(UsageError, match="50 s: choose fewer cases and fewer --blocks$"):
        check_budget(TEN, SHORT, 1.0, 50.0)


@pytest.fixture
def record(fake, make_case):
    """A case of ten seconds: three of compilation, one of warmup, four of samples, two besides."""
    return msgspec.structs.replace(
        measure(make_case("relu"), fake),
        summaries={FIRST_CALL.name: summarise([3e9], "ns")},
        waits={"forward": Waits(wall_s=1.5), "backward": Waits(wall_s=2.5)},
        busy_s=8.0,
        wall_s=10.0,
    )


def process(records, wall_s):
    place = Place("comparison", 0, 0, "A", "A")
    return Process(ProcessLine(place, "", wall_s), tuple(records), {}, {}, {})


def test_the_time_of_cases_by_part(record):
    assert parts_of([record, record]) == {
        "samples": 8.0,
        "compilation": 6.0,
        "warmup": 2.0,
        "inputs, first use and the rest": 4.0,
    }
    assert parts_of([]) == {}


def test_the_sentence_has_the_largest_part_first(record):
    assert spent([process([record], 40.0), process([record], 60.0)]) == (
        "the processes took 1 min 40 s: starting processes and importing 80%, samples 8%, "
        "compilation 6%, inputs, first use and the rest 4%, warmup 2%"
    )


def test_a_session_without_a_process_has_no_sentence():
    assert spent([]) == ""
