"""What every instrument is held to, built-in or of another package: the toy stands for those."""

import runpy
from pathlib import Path

import msgspec
import pytest

from opperf.errors import OpperfError
from opperf.instruments.peaks import LOCAL_METER
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.instruments.visit import Conditions, Visit
from opperf.metrics import BUILT_IN, ORDER, expected_metrics, instruments_of, needs_of
from opperf.model import Metric, NoteCode, Settings

TOY = Path(__file__).parents[1] / "toy_instrument" / "toy_instrument.py"

# Not by the path of imports, where every later test would find it as an installed one.
BANDWIDTH = runpy.run_path(str(TOY))["BANDWIDTH"]

EVERY = {instrument.name: instrument for instrument in (*BUILT_IN, BANDWIDTH)}
TIMED = {
    name: one for name, one in EVERY.items() if one in (*instruments_of(Settings()), BANDWIDTH)
}
BOTH = ("forward", "backward")


@pytest.fixture(params=EVERY.values(), ids=EVERY.keys())
def instrument(request):
    return request.param


@pytest.fixture
def visit(fake, make_case):
    """A visit of a recorded case that the built-in instruments of times have measured."""
    case = msgspec.structs.replace(make_case("relu", passes=BOTH), recorded=(2000, 1000))
    with case_scope(case, fake):
        made = Visit(PreparedCase(case, fake), Conditions(LOCAL_METER))
        for one in instruments_of(case.settings):
            one.measure(made)
        yield made


def test_it_has_a_name_and_metrics_of_its_own(instrument):
    assert instrument.name.isidentifier() and instrument.metrics
    names = [metric.name for metric in instrument.metrics]
    others = {m.name for one in EVERY.values() if one is not instrument for m in one.metrics}
    assert len(set(names)) == len(names) and not set(names) & others
    for metric in instrument.metrics:
        assert isinstance(metric, Metric) and metric.title and metric.description and metric.unit
        assert msgspec.json.decode(msgspec.json.encode(metric), type=Metric) == metric


def test_it_measures_under_some_profiler(instrument):
    settings = [Settings(profiler=name, verify=True) for name in ("native", "instructions")]
    assert any(map(instrument.measures, settings))


def test_what_it_expects_is_its_own(instrument, make_case):
    expected = instrument.expected(make_case("relu", passes=BOTH))
    assert set(expected) <= {metric.name for metric in instrument.metrics}


def test_it_tells_its_effort_in_words(instrument):
    for settings in (Settings(), Settings(runs=1), Settings(max_time_s=None)):
        assert all(isinstance(text, str) for text in instrument.effort(settings))


@pytest.mark.parametrize("name", TIMED)
def test_it_keeps_its_metrics_or_says_why_not(fake, visit, name):
    declared = {metric.name: metric for metric in EVERY[name].metrics}
    EVERY[name].measure(visit)
    record = visit.record()
    for expected in EVERY[name].expected(visit.case):
        assert expected in record.summaries or record.note(expected, *NoteCode)
    for kept in declared.keys() & record.summaries.keys():
        summary, samples = record.summaries[kept], record.samples.get(kept)
        assert summary.unit == declared[kept].unit and summary.n >= 1
        assert samples is None or len(samples) == summary.n
    # These measure what only some cases have.
    assert name in ("compilation", "replays", "steps") or declared.keys() & record.summaries.keys()


@pytest.mark.parametrize("name", TIMED)
def test_it_keeps_nothing_of_what_is_not_its_own(fake, make_case, name):
    case = msgspec.structs.replace(make_case("relu", passes=BOTH), recorded=(2000, 1000))
    with case_scope(case, fake):
        made = Visit(PreparedCase(case, fake), Conditions(LOCAL_METER))
        before = set()
        for one in (*instruments_of(case.settings), BANDWIDTH):
            one.measure(made)
            new = made.summaries.keys() - before
            assert new <= {metric.name for metric in one.metrics}, one.name
            before |= new


def test_one_that_needs_another_machine_says_so_in_a_line(instrument, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        instrument.check([Settings()], [])
    except OpperfError as error:
        assert "\n" not in str(error)


def test_the_built_in_ones_measure_what_a_record_is_expected_to_have(make_case):
    assert set(ORDER) == set(BUILT_IN)
    assert expected_metrics(make_case("relu", passes=BOTH)) == ("forward", "backward", "memory")
    counted = make_case("relu", passes=BOTH, profiler="instructions")
    assert expected_metrics(counted) == ("instructions", "instructions_backward")
    assert needs_of(counted.settings).fork_for_each_case
    assert not needs_of(counted.settings).quiet_machine
    assert needs_of(Settings()).pristine_fork and needs_of(Settings()).quiet_machine
    assert not needs_of(Settings(memory=False)).pristine_fork


def test_a_figure_that_is_not_finite_is_refused(visit):
    (metric,) = BANDWIDTH.metrics
    with pytest.raises(ValueError, match="not all values of bandwidth are finite numbers"):
        visit.keep(metric, [1.0, float("nan")])
    assert metric.name not in visit.samples and metric.name not in visit.summaries
