"""Charts of speed-ups: what is drawn, and how large."""

import struct

import pytest

from opperf.experiments.aggregation.charts import CHARTS, Figure
from opperf.experiments.aggregation.speedups import collect, compare, oldest
from opperf.experiments.aggregation.tables import Comparison
from opperf.results.plots.images import SCALE, WRITERS
from tests.experiments.lines import DAY, MONDAY, record

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

BACKENDS = ("inductor", "openxla+dynamo")


@pytest.fixture
def compared():
    records = [
        record(model, backend, (9, 9, 9, 4, 4.2 + day / 10, 4.4), at=MONDAY + day * DAY)
        for model in ("alpha", "beta")
        for backend in BACKENDS
        for day in range(3)
    ]
    times = collect(records, "exec")
    return Comparison(compare(times, BACKENDS, oldest(times, "inductor")), BACKENDS, "oldest")


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_backends_titles_and_bands(name, compared):
    svg = WRITERS[".svg"](CHARTS[name](compared, Figure(title="(nightly)"))).decode()
    for text in ("Speedup over Oldest Inductor", "(nightly)", "XLA+Dynamo", "Bands: "):
        assert text in svg
    if name.startswith("latest"):
        assert "alpha" in svg and "beta" in svg
    else:
        assert "2023-11-2" in svg and "mark-area" in svg


def test_a_chart_has_the_size_that_is_asked_for(compared):
    png = WRITERS[".png"](CHARTS["speedup"](compared, Figure(5.0, 3.0)))
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (500 * SCALE, 300 * SCALE)


def test_bars_have_room_unless_a_height_is_set(compared):
    grouped = CHARTS["latest_grouped"]
    many = Comparison(compared.found, compared.backends * 25, "oldest")
    assert grouped(many, Figure()).height > grouped(compared, Figure()).height == 675
    assert grouped(many, Figure(height=4.0)).height == 400
