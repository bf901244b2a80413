"""Where a recorded program called its operators."""

import msgspec
import pytest

from opperf.instruments.profilers.summary import summarise
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.modules import MOST_DEPTH, module_tree, unite_alike
from opperf.reports.hotspots.places import line_text, places_of, unite_numbered, united_name
from opperf.reports.hotspots.ranking_report import recording_of
from tests.recordings import THERE, called, measured, recording, site, transformer
from tests.writing import ranked


def found_places(run, united=False):
    found = find_hotspots([run])
    places = places_of(found.timed, found)
    return [
        (one.site.module, one.calls, one.time / 1e3)
        for one in (unite_numbered(places) if united else places)
    ]


def test_recorded_times_are_those_of_the_places():
    run = recording(called("mm", site("a", 9, 3), site("b", 1, 2)))
    assert found_places(run) == [("a", 3, 9), ("b", 2, 1)]


def test_measured_times_are_the_same_at_each_place():
    run = recording(called("mm", site("a", 9, 3), site("b", 1, 2)))
    assert found_places(measured(run, {"mm": 4.0})) == [("a", 3, 12), ("b", 2, 8)]


def test_places_of_several_cases_are_added():
    run = recording(called("mm", site("a", 3)), called("mm", site("a", 4, 2), shape=(2, 2)))
    assert found_places(run) == [("a", 3, 7)]


def test_calls_without_a_place_are_at_an_unknown_one():
    run = recording(msgspec.structs.replace(called("mm", site("a", 4, 2)), count=3))
    assert found_places(measured(run, {"mm": 1.0})) == [("a", 2, 2), ("", 1, 1)]


def test_numbered_modules_are_one_place():
    run = recording(
        called(
            "mm",
            *(site(f"layers.{number}.mlp", 1) for number in (0, 1, 2, 5)),
            site("layers.3.mlp", 1, line=2),
            site("layers..mlp", 1),
        )
    )
    assert found_places(run, united=True) == [
        ("layers.0-2,5.mlp", 4, 4),
        ("layers.3.mlp", 1, 1),
        ("layers..mlp", 1, 1),
    ]
    assert united_name(["10", "9", "3"]) == "3,9-10"


@pytest.mark.parametrize(
    "place, text",
    [
        (site(file="/x/site-packages/torch/nn/linear.py", line=7), "torch/nn/linear.py:7"),
        (site(file="train.py", line=0), "train.py"),
        (site(file="", function="loss"), "loss"),
    ],
)
def test_lines_are_short(place, text):
    assert line_text(place) == text


def rows(module):
    return [(depth, one.name, one.total.calls) for depth, one in module.walk()]


def test_the_tree_has_every_module_with_all_below():
    tree = module_tree(find_hotspots([transformer(2)]))
    assert rows(tree)[:4] == [
        (0, "all", 20),
        (1, "embedding", 2),
        (1, "encoder", 16),
        (2, "layer", 16),
    ]
    layer = tree.modules["encoder"].modules["layer"].modules["1"]
    assert layer.path == "encoder.layer.1" and layer.total.time / 1e3 == 16
    assert layer.phases == {"forward": 10e3, "backward": 6e3} and layer.slowest() == "addmm"
    assert [one.name for one in layer.operators] == ["gelu"]
    assert tree.modules["optimizer"].total.time / 1e3 == 12


def test_modules_that_call_the_same_are_one_row():
    tree = module_tree(find_hotspots([transformer(3)]))
    united = unite_alike(tree)
    (layers,) = united.modules["encoder"].modules["layer"].modules.values()
    assert (layers.name, layers.total.calls) == ("0-2", 24)
    dense = layers.modules["output"].modules["dense"]
    assert dense.path == "encoder.layer.0-2.output.dense" and dense.total.time / 1e3 == 30
    assert united.total == tree.total


def test_modules_that_differ_have_a_row_each():
    run = recording(
        called("mm", *(site(f"layers.{number}", 1) for number in range(3))),
        called("relu", site("layers.1", 1)),
    )
    united = unite_alike(module_tree(find_hotspots([run])))
    assert rows(united)[2:] == [(2, "0,2", 2), (2, "1", 2)]


def test_the_backward_pass_that_is_measured_with_a_call_is_in_no_forward_time():
    # As MXNet's engine runs it: the recording has the forward call alone.
    run = measured(recording(called("dot", site("net.0", 9, 2)), steps=2), {"dot": 3.0})
    (record,) = run.records
    both = record.summaries | {"backward": summarise([5e3] * 20, "ns")}
    run = msgspec.structs.replace(run, records=(msgspec.structs.replace(record, summaries=both),))
    found = find_hotspots([run])
    tree = module_tree(found)
    assert tree.phases == {"forward": 6e3, "backward": 10e3}
    # The calls are the same.
    assert (tree.total.calls, tree.total.time) == (2, 16e3)
    assert list(tree.modules) == ["net"]
    places = places_of(found.timed, found)
    assert [(place.site.phase, place.time) for place in places] == [
        ("backward", 10e3),
        ("forward", 6e3),
    ]
    text = " ".join(ranked(found, recording=recording_of(found, [run]), has_tree=True).split())
    assert "Forward us Backward us" in text and "all 16.00 100.0 % 2 6.000 10.00 dot" in text
    assert "Time of 2 calls in 2 steps of 1 case" in text and "Time of 2 steps us" in text


def test_a_path_of_any_length_is_a_tree():
    run = recording(called("mm", site(".".join("a" * 5000), 1), site("9" * 5000, 1)))
    tree = module_tree(find_hotspots([run]))
    assert max(depth for depth, _ in tree.walk()) == MOST_DEPTH
    assert len(list(unite_alike(tree).walk())) == MOST_DEPTH + 2


def test_calls_outside_of_modules_are_under_what_is_known():
    run = recording(
        called(
            "mm",
            site("", 1, phase="optimizer"),
            site("Optimizer.step#SGD.step", 1, phase="optimizer"),
            site("", 1, function="loss"),
            site("", 1, file="a.py", line=4),
            site("", 1, file=""),
        ),
        environment=THERE,
    )
    tree = module_tree(find_hotspots([run]))
    assert list(tree.modules) == ["optimizer", "loss", "a.py:4"]
    assert list(tree.modules["optimizer"].modules) == ["Optimizer.step#SGD.step"]
    assert [own.calls for own in tree.operators.values()] == [1]
