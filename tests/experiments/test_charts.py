"""Charts of speed-ups: what is drawn, and how large."""

import re
import struct

import pytest

from opperf.experiments.charts import CHARTS, MOST_NAMES, ChartShape
from opperf.experiments.speedups import collect, compare, oldest
from opperf.experiments.tables import SpeedupComparison
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
    return SpeedupComparison(
        compare(times, BACKENDS, oldest(times, "inductor")), BACKENDS, "oldest"
    )


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_backends_titles_and_bands(name, compared):
    svg = WRITERS[".svg"](CHARTS[name](compared, ChartShape(title="(nightly)"))).decode()
    for text in ("Speedup over Oldest Inductor", "(nightly)", "XLA+Dynamo", "Bands: "):
        assert text in svg
    if name.startswith("latest"):
        assert "alpha" in svg and "beta" in svg
    else:
        assert "2023-11-2" in svg and "mark-area" in svg


def test_dates_have_hours_where_several_runs_are_of_one_day(compared):
    days = CHARTS["speedup"](compared, ChartShape()).to_json()
    assert '"format": "%Y-%m-%d"' in days
    hours = {MONDAY + hour * 3600: own for hour, own in enumerate(compared.found.values())}
    same_day = SpeedupComparison(hours, compared.backends, compared.baseline)
    assert '"format": "%m-%d %H:%M"' in CHARTS["speedup"](same_day, ChartShape()).to_json()


def test_of_many_workloads_some_are_named():
    many = [record(f"model{number}", times=(9, 9, 9, 4)) for number in range(3 * MOST_NAMES)]
    times = collect(many, "exec")
    found = compare(times, ("inductor",), oldest(times, "inductor"))
    svg = WRITERS[".svg"](
        CHARTS["latest"](SpeedupComparison(found, ("inductor",), "oldest"), ChartShape())
    ).decode()
    assert "One model in 3 is named" in svg
    assert len(set(re.findall(r">model\d+<", svg))) == MOST_NAMES


def test_a_chart_has_the_size_that_is_asked_for(compared):
    png = WRITERS[".png"](CHARTS["speedup"](compared, ChartShape(5.0, 3.0)))
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (500 * SCALE, 300 * SCALE)


def test_bars_have_room_unless_a_height_is_set(compared):
    grouped = CHARTS["latest_grouped"]
    many = SpeedupComparison(compared.found, compared.backends * 25, "oldest")
    assert grouped(many, ChartShape()).height > grouped(compared, ChartShape()).height == 675
    assert grouped(many, ChartShape(height=4.0)).height == 400
