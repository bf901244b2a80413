"""Times that a recording has of its calls."""

import msgspec

from opperf.frameworks import load
from opperf.instruments.times import RECORDED
from opperf.model import CallSite, Case, MetricKind, OperatorTarget, Settings, TensorSpec
from opperf.results.columns import select_columns
from opperf.sources.completing import merge
from opperf.sources.varying import with_dtype
from opperf.worker.measure import measure

CASE = Case(
    target=OperatorTarget("numpy", "add"),
    arguments={"x1": TensorSpec((8,)), "x2": TensorSpec((8,))},
    settings=Settings(runs=3, warmup=1, profiler="python"),
    passes=("forward",),
    recorded=(3000, 1000, 2000),
    sites=(CallSite("encoder.0", "model.py", 12, count=2, time_ns=4000.0),),
)


def test_recorded_times_are_a_column_beside_those_measured() -> None:
    record = measure(CASE, load("numpy"))
    assert record.summaries["recorded"].median == 2000
    assert record.summaries["recorded"].n == 3
    titles = [column.metric.title for column in select_columns([record])]
    assert titles.index("Forward") < titles.index("Recorded")
    assert RECORDED.kind is MetricKind.RECORDED


def test_calls_of_equal_cases_are_added_with_their_places_and_times() -> None:
    other = msgspec.structs.replace(
        CASE,
        recorded=(5000,),
        sites=(
            CallSite("encoder.0", "model.py", 12, time_ns=5000.0),
            CallSite("encoder.1", "model.py", 12),
        ),
    )
    (merged,) = merge([CASE, other])
    assert merged.count == 2
    assert merged.recorded == (3000, 1000, 2000, 5000)
    assert merged.sites == (
        CallSite("encoder.0", "model.py", 12, count=3, time_ns=9000.0),
        CallSite("encoder.1", "model.py", 12),
    )
    assert merged.id == CASE.id == msgspec.structs.replace(CASE, recorded=(), sites=()).id


def test_times_are_of_the_recorded_inputs_alone() -> None:
    assert with_dtype(CASE, "float64").recorded == ()
    assert with_dtype(CASE, "float32").recorded == CASE.recorded
