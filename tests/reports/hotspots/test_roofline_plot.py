"""The roofline plot: lines of peaks, and a circle for each operator below them."""

from __future__ import annotations

import itertools
import math
import random
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner

from opperf.commands.run_files import plot
from opperf.errors import UsageError
from opperf.model import BandwidthPeak, OperatorTarget, ProductPeak, TensorSpec
from opperf.reports.hotspots import roofline_plot as drawn
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.ranking_report import report_of
from opperf.reports.html import svg_of, write_html, write_svg
from opperf.reports.writing import write


def content_of(run):
    return drawn.roofline_plot(find_hotspots([run])).content


def reader(ticks):
    """Returns the value at a pixel, by the first and the last tick."""
    (first, low), (last, high) = ticks[0], ticks[-1]
    low, high = math.log(float(low)), math.log(float(high))
    return lambda pixel: math.exp(low + (pixel - first) / (last - first) * (high - low))


def test_circles_are_where_operators_are_and_as_large_as_their_share(known):
    content = content_of(known)
    x, y = reader(content["x_ticks"]), reader(content["y_ticks"])
    found = {circle.name: circle for circle in content["circles"]}
    # Views move nothing, and of `odd` nothing is known.
    assert set(found) == {"mm", "relu", "zero"}
    assert (x(found["mm"].x), y(found["mm"].y)) == (
        pytest.approx(1e7 / 9_000, rel=0.01),
        pytest.approx(1e7 / 150_000, rel=0.01),
    )
    areas = {name: (circle.radius - drawn.LEAST_RADIUS) ** 2 for name, circle in found.items()}
    assert areas["mm"] / areas["zero"] == pytest.approx(300 / 200, rel=0.02)
    assert "66 % of the attainable" in found["relu"].hover
    assert [text for _, _, text in content["legend"]] == ["memory", "compute", "impossible"]
    assert "18.0 % of the time have no known operations or bytes" in content["head"][1]


def test_lines_are_those_of_the_peaks_with_their_names(known):
    content = content_of(known)
    x, y = reader(content["x_ticks"]), reader(content["y_ticks"])
    assert [text[-1] for text in content["labels"]] == [
        "L2 100 GB/s",
        "memory 10 GB/s",
        "float32 100 GFLOP/s",
    ]
    cache, memory, product = content["lines"]
    for (x1, y1, x2, y2, dash), rate in ((cache, 100), (memory, 10)):
        assert y(y1) / x(x1) == pytest.approx(rate, rel=0.02) and dash == ""
        assert (x(x2), y(y2)) == (pytest.approx(100 / rate, rel=0.02), pytest.approx(100, rel=0.02))
    # From where the fastest memory reaches it to the edge.
    assert product[0] == pytest.approx(cache[2], abs=0.2) and product[2] == drawn.RIGHT


def test_each_device_of_the_run_has_lines_of_its_own(working, peaked, of):
    run = peaked(
        of(working("mm", 300.0, 1, 1e7, 9_000), working("mm", 50.0, 1, 1e7, 9_000, device="gpu(0)"))
    )
    ((key, environment),) = run.environments.items()
    (cores,) = environment.peaks
    gpu = msgspec.structs.replace(
        cores,
        device="gpu(0)",
        bandwidths=(BandwidthPeak(level="memory", kernel="copy", threads=0, bytes=0, rate=2e12),),
        products=(ProductPeak(dtype="float32", threads=0, rate=5e13, by="x"),),
    )
    both = msgspec.structs.replace(environment, peaks=(cores, gpu))
    content = content_of(msgspec.structs.replace(run, environments={key: both}))
    assert content["head"][0] == (
        "Peaks of cpu(0) with all threads, measured 2026-01-02 and of gpu(0), measured 2026-01-02 "
        "(dashed)."
    )
    drawn_as = [line[-1] for line in content["lines"]]
    assert drawn_as == ["", "", drawn.DASHES["dashed"], drawn.DASHES["dashed"], ""]
    assert [text[-1] for text in content["labels"]] == [
        "cpu(0) L2 100 GB/s",
        "cpu(0) memory 10 GB/s",
        "gpu(0) memory 2,000 GB/s",
        "gpu(0) float32 50,000 GFLOP/s",
        "cpu(0) float32 100 GFLOP/s",
    ]
    x, y = reader(content["x_ticks"]), reader(content["y_ticks"])
    ridge = content["lines"][2]
    assert (x(ridge[2]), y(ridge[3])) == (pytest.approx(25, rel=0.03), pytest.approx(5e4, rel=0.03))
    assert 'stroke-dasharray="8 5"' in svg_of(
        drawn.roofline_plot(find_hotspots([msgspec.structs.replace(run, environments={key: both})]))
    )


def test_the_line_of_a_slow_product_is_in_the_image(working, peaked, of):
    run = peaked(of(working("mm", 101.0, 1, 1e7, 9_000), working("relu", 1e3, 1, None, 90_000)))
    environment = next(iter(run.environments.values()))
    (peaks,) = environment.peaks
    slow = msgspec.structs.replace(peaks.products[0], dtype="float64", rate=1e9)
    peaks = msgspec.structs.replace(peaks, products=(*peaks.products, slow))
    mm, relu = run.records
    wide = {name: TensorSpec((4, 4), "float64") for name in relu.case.arguments}
    relu = msgspec.structs.replace(
        relu, case=msgspec.structs.replace(relu.case, arguments=wide), id=""
    )
    run = msgspec.structs.replace(
        run,
        records=(mm, relu),
        cases=(mm.case, relu.case),
        environments={environment.id: msgspec.structs.replace(environment, peaks=(peaks,))},
    )
    content = content_of(run)
    assert [text[-1] for text in content["labels"]][-1] == "float64 1 GFLOP/s"
    assert all(drawn.TOP <= line[1] <= drawn.BOTTOM for line in content["lines"])


def test_names_of_sixty_operators_overlap_nothing(working, peaked, of):
    some = random.Random(7)
    made = [
        working(f"operator_{place}", 10 ** some.uniform(1, 4), 1, 10 ** some.uniform(3, 5), 90_000)
        for place in range(60)
    ]
    content = content_of(peaked(of(*made)))
    names = [drawn._boxes_of(text)[0] for text in content["names"]]
    labels = [box for text in content["labels"] for box in drawn._boxes_of(text)]
    assert len(content["circles"]) == 60 and 8 <= len(names) <= drawn.MOST_NAMES
    assert not any(drawn._overlap(*pair) for pair in itertools.combinations(names, 2))
    assert not any(drawn._overlap(*pair) for pair in itertools.product(names, labels))


def test_pages_have_it_and_by_headroom_it_is_the_image(known):
    first = known.records[0]
    case = msgspec.structs.replace(first.case, target=OperatorTarget("torch", "m<m\x00"))
    hostile = msgspec.structs.replace(first, case=case)
    run = msgspec.structs.replace(known, records=(hostile, *known.records[1:]))
    report = report_of(find_hotspots([run], "headroom"))
    image = write_svg(report)
    texts = {element.text for element in ElementTree.fromstring(image).iter()}
    assert {"Roofline", "relu", "float32 100 GFLOP/s"} <= texts and "Time of a program" not in texts
    assert any("m<m" in (text or "") for text in texts)
    assert "float32 100 GFLOP/s" in write_html(report)
    assert "Time of a program" in write_svg(report_of(find_hotspots([run])))


def test_without_peaks_or_work_nothing_is_drawn(program, working, peaked, of):
    assert drawn.roofline_plot(find_hotspots([program])) is None
    bytes_alone = peaked(of(working("relu", 110.0, 1, None, 1_000_000)))
    assert drawn.roofline_plot(find_hotspots([bytes_alone])) is None


@pytest.fixture
def invoke(known, tmp_path):
    write(known, tmp_path / "run.jsonl", "jsonl")

    def invoked(*words):
        found = CliRunner().invoke(plot, [str(tmp_path / "run.jsonl"), "--x", "intensity", *words])
        return found.exception or found.output

    return invoked


def test_plot_writes_it(invoke, known, tmp_path):
    image = tmp_path / "roofline.svg"
    assert invoke("-o", str(image)).startswith("written to")
    assert image.read_text() == svg_of(drawn.roofline_plot(find_hotspots([known])))
    page = tmp_path / "roofline.html"
    invoke("-o", str(page))
    assert "float32 100 GFLOP/s" in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--x intensity is an image; name one with -o roofline.svg"),
        (("-o", "x.svg", "--metric", "forward"), "takes neither --metric nor --top"),
    ],
)
def test_what_a_roofline_does_not_take_is_refused(invoke, words, said):
    found = invoke(*words)
    assert isinstance(found, UsageError) and said in str(found)
