"""The flame graph of a recording."""

from xml.etree import ElementTree

import msgspec
import pytest

from opperf.model import CompiledProgram
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.ranking_report import recording_of
from tests.recordings import THERE, called, measured, recording, site, transformer
from tests.writing import ranked

SVG = "{http://www.w3.org/2000/svg}"


def drawn(run):
    """Frames by the first line of what hovering shows: their rectangles."""
    found = find_hotspots([run])
    text = ranked(found, None, "svg", recording=recording_of(found, [run]))
    frames = {}
    for group in ElementTree.fromstring(text).findall(f"{SVG}g"):
        hover = group.find(f"{SVG}title").text.splitlines()
        rect = group.find(f"{SVG}rect").attrib
        frames[hover[0]] = (*(float(rect[key]) for key in ("x", "y", "width")), hover[1])
    return frames


def test_frames_are_as_wide_as_their_time_and_within_what_they_are_in():
    frames = drawn(transformer(2, step_us=None, recorded_us=None))
    x, y, width, hover = frames["all"]
    assert width == 1180 and hover == "48.00 us, 100.0 %, 20 calls"
    layer = frames["encoder.layer.1"]
    assert layer[2] == pytest.approx(width * 16 / 48, abs=0.02)
    below = [frames["encoder.layer.1.output"], frames["gelu forward in encoder.layer.1"]]
    assert all(one[1] > layer[1] and one[0] >= layer[0] for one in below)
    assert all(one[0] + one[2] <= layer[0] + layer[2] + 0.02 for one in below)
    assert frames["_foreach_add_ optimizer in optimizer"][3].startswith("12.00 us, 25.0 %")


def test_what_is_not_explained_is_beside():
    frames = drawn(recording(called("mm", site("a", 5)), step_us=[20.0] * 9))
    assert frames["not explained"][2] == pytest.approx(1180 * 0.75)
    assert frames["a"][2] == pytest.approx(1180 * 0.25)
    elsewhere = measured(recording(called("mm", site("a", 5)), step_us=[20.0] * 9), {"mm": 1.0})
    assert "not explained" not in drawn(elsewhere)
    start = drawn(recording(called("mm", site("a", 5)), step_us=[51.0] * 9))
    assert "not explained" not in start and start["a"][2] == 1180


def test_compiled_programs_are_beside_without_their_operators():
    run = recording(
        called("mm", msgspec.structs.replace(site("a", 4), program="f")),
        called("tanh", msgspec.structs.replace(site("a"), program="g"), shape=(2, 2)),
        step_us=[20.0] * 9,
        compiled=(CompiledProgram("f", 1, 9e3), CompiledProgram("g", 1, 8e3)),
    )
    frames = drawn(run)
    assert [frames[name][2] / 59 for name in ("a", "f", "g", "not explained")] == [4, 5, 8, 3]
    # Those that are drawn by their measured times are in it.
    frames = drawn(measured(run, {"mm": 4.0, "tanh": 6.0}, environment=THERE))
    assert [frames[name][2] / 59 for name in ("a", "f", "g", "not explained")] == [10, 5, 2, 3]


def test_calls_are_drawn_where_nothing_was_timed():
    frames = drawn(transformer(2, is_timed=False))
    assert frames["all"][3] == "100.0 %, 20 calls" and "not explained" not in frames


def test_a_run_of_no_program_has_its_operators(program):
    frames = drawn(program)
    assert frames["mm"][2] == pytest.approx(1180 * 0.8) and set(frames) > {"add.Tensor"}


def test_narrow_frames_are_not_drawn():
    many = (site(f"layers.{number}", 1) for number in range(9000))
    frames = drawn(recording(called("mm", *many), called("relu", site("a", 9000))))
    assert "a" in frames and "layers" in frames and len(frames) < 10


def test_a_page_has_the_graph_and_loads_nothing():
    run = measured(transformer(2), {"addmm": 1.0}, environment=THERE)
    found = find_hotspots([run])
    page = ranked(found, None, "html", recording=recording_of(found, [run], {"addmm": 0.5}))
    assert page.startswith("<!DOCTYPE html>") and page.count("<svg ") == 1
    assert "Called at" in page and "Module</th>" in page and "addmm x 0.5" in page
    assert "<script" not in page and "src=" not in page and 'href="http' not in page
