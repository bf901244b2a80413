"""The line through times and bytes, and what is above it."""

import msgspec
import numpy as np
import pytest

from opperf.model import Case, OperatorTarget, Record, Status, TensorSpec
from opperf.profilers.summary import summarise as summarise_samples
from opperf.results.markdown import markdown_text
from opperf.results.outliers import LEAST_POINTS, fitted, outliers
from opperf.results.summary import summarise


def shaped(moved, ns, name="relu", tags=(), **metrics):
    case = Case(OperatorTarget("mxnet", name), {"data": TensorSpec((moved // 8,))}, tags=tags)
    times = {metric: summarise_samples([ns], "ns") for metric, ns in metrics.items()}
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries={"forward": summarise_samples([ns], "ns"), **times},
        moved_bytes=moved,
    )


def on_a_line(call_ns, byte_ns, count=12, **how):
    sizes = np.geomspace(2**10, 2**24, count).astype(int)
    return [shaped(int(size), call_ns + byte_ns * size, **how) for size in sizes]


@pytest.mark.parametrize(("call_ns", "byte_ns"), [(5000, 0.1), (100, 2.0), (20000, 0.01)])
def test_the_line_is_found_from_a_microsecond_to_a_second(call_ns, byte_ns):
    sizes = np.geomspace(2**10, 2**26, 30)
    noise = np.exp(np.random.default_rng(0).normal(0, 0.03, 30))
    line = fitted(sizes, (call_ns + byte_ns * sizes) * noise)
    assert line.at(sizes[0]) == pytest.approx(call_ns + byte_ns * sizes[0], rel=0.06)
    assert line.at(sizes[-1]) == pytest.approx(call_ns + byte_ns * sizes[-1], rel=0.06)


def test_outliers_do_not_draw_the_line_to_themselves():
    sizes = np.geomspace(2**10, 2**24, 20)
    times = 3000 + 0.2 * sizes
    times[[4, 15]] *= 8
    assert fitted(sizes, times).at(2**20) == pytest.approx(3000 + 0.2 * 2**20, rel=0.1)


def test_the_worst_comes_first_with_its_ratio():
    records = on_a_line(4000, 0.1)
    slow = shaped(2**20 + 8, 5 * (4000 + 0.1 * 2**20))
    (worst, second, *_) = outliers([*records, slow])
    assert worst.record is slow and worst.ratio == pytest.approx(5, rel=0.15)
    assert second.ratio == pytest.approx(1, rel=0.1)


def test_each_pass_and_each_configuration_has_a_line_of_its_own():
    one = on_a_line(4000, 0.1, tags=("configuration 0",), backward=9000)
    other = on_a_line(4000, 10.0, tags=("configuration 1",))
    found = outliers([*one, *other])
    assert {outlier.metric for outlier in found} == {"forward", "backward"}
    assert all(outlier.ratio == pytest.approx(1, rel=0.05) for outlier in found)


def test_configurations_of_few_shapes_have_a_line_together():
    few = [shaped(2**i, 1000 + 2**i, tags=(f"configuration {i % 4}",)) for i in range(10, 18)]
    assert len(outliers(few)) == len(few)
    assert outliers(few[: LEAST_POINTS - 1]) == []


def test_a_run_of_random_shapes_tells_of_them(run):
    options = {"command": "x", "selection": {"fuzz": {"count": 20, "most": 99}, "size": "small"}}
    header = msgspec.structs.replace(run.header, options=options)
    slow = shaped(2**20 + 8, 10**7, name="sum")
    records = (*on_a_line(4000, 0.1, name="sum"), slow)
    fuzzed = msgspec.structs.replace(run, header=header, records=records)
    for text in (summarise(fuzzed, 1.0), markdown_text(fuzzed)):
        assert "Out of line" in text
        assert f"opperf run sum --fuzz-shapes 20 --seed 0 --max-elements 99 --id {slow.id}" in text
        assert f"opperf show sum --fuzz-shapes 20 --seed 0 --max-elements 99 --id {slow.id}" in text
    assert "Out of line" not in summarise(run, 1.0)
