"""The time of a case after the first look."""

import math

import pytest

from opperf.comparison.ab.forecast import Stage
from opperf.comparison.ab.process import key
from opperf.comparison.ab.visit_times import visit_times
from opperf.defaults import LONGEST_VISIT_S, SHORTEST_VISIT_S
from opperf.instruments.profilers.summary import summarise
from opperf.model import Place, ProcessLine, Record, Status, Waits
from opperf.statistics.data import Thresholds
from opperf.statistics.design import block_order
from tests.comparison.ab.sessions import case, session_of

STEADY, NOISY, SHAKY = case("steady", ("forward",)), case("noisy"), case("shaky", ("forward",))
CASES = STEADY, NOISY, SHAKY
LATER = Stage("comparison", 4, 2, tuple(key(c.id, m) for c in CASES for m in c.passes))

WITHIN = {STEADY.id: 0.002, NOISY.id: 0.2, SHAKY.id: 0.002}
"""Half the range of a process's samples, as a share."""
BETWEEN = {STEADY.id: 0.004, NOISY.id: 0.004, SHAKY.id: 0.2}
"""By how much processes differ."""


def measured(blocks=6, waits=True, **plan):
    """A session with this many blocks of A and B."""
    session = session_of(*CASES, thresholds=Thresholds(control_blocks=1), **plan)
    phases = [("control", 0), *(("comparison", block) for block in range(blocks))]
    for phase, block in phases:
        for position, role in enumerate(block_order(0, phase, block)):
            arm = "A" if phase == "control" else role
            place = Place(phase, block, position, arm, role)
            records = [record(one, arm, place, session, waits) for one in CASES]
            session.add(ProcessLine(place, "now", 0.3), records)
    return session


def record(one, arm, place, session, waits):
    planned = session.cases_of(arm)[one.id]
    step = math.sin(1 + 7 * place.block + 3 * place.position + 11 * len(place.phase))
    level = 1000 * math.exp(BETWEEN[one.id] * step)
    width = WITHIN[one.id]
    samples = [level * (1 + width * (number - 10) / 10) for number in range(21)]
    summaries = {metric: summarise(samples, "ns") for metric in planned.passes}
    return Record(
        case=planned,
        id=planned.id,
        status=Status.OK,
        summaries=summaries,
        waits=dict.fromkeys(planned.passes if waits else (), Waits(wall_s=0.025)),
        place=place,
    )


def test_a_case_has_the_time_that_its_scatter_deserves():
    times = visit_times(measured(allocates=True), LATER)
    assert set(times) == {one.id for one in CASES}
    assert times[NOISY.id] == LONGEST_VISIT_S
    assert times[SHAKY.id] == SHORTEST_VISIT_S < times[STEADY.id] < LONGEST_VISIT_S


def test_it_depends_on_the_blocks_before_the_stage_alone():
    before = visit_times(measured(4, allocates=True), LATER)
    assert visit_times(measured(6, allocates=True), LATER) == before
    later = LATER._replace(first_block=6)
    assert visit_times(measured(6, allocates=True), later) != before


@pytest.mark.parametrize(
    "stage", [Stage("control", 0, 1, ()), Stage("comparison", 0, 4, ()), Stage("coarse", 0, 4, ())]
)
def test_up_to_the_first_look_all_have_the_same(stage):
    assert visit_times(measured(allocates=True), stage) == {}


def test_what_the_user_set_stays():
    assert visit_times(measured(), LATER) == {}


def test_a_case_without_samples_keeps_its_time():
    assert visit_times(measured(waits=False, allocates=True), LATER) == {}
