"""What the time of a session went to."""

import msgspec
import pytest

from opperf.comparison.ab.session import Process
from opperf.comparison.ab.spending import parts_of, spent
from opperf.instruments.compilation import FIRST_CALL
from opperf.instruments.profilers.summary import summarise
from opperf.model import Place, ProcessLine, Waits
from opperf.worker.measure import measure


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
