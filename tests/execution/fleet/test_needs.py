"""Reservations of workers, and cases that one node measures."""

import msgspec
import pytest

from opperf.execution.fleet.node_groups import Reserved, pair_key, pairs_of, reserve
from opperf.execution.fleet.nodes import FleetOptions, Node
from opperf.model import Case, ScriptTarget
from opperf.sources.varying import with_settings

NODE = Node("1", "a", cpus=16, gpus=4)


def with_some(case, **settings):
    return with_settings(case, settings)


@pytest.mark.parametrize(
    ("settings", "options", "reserved"),
    [
        ({}, {}, Reserved(16, 0, 1)),
        ({"threads": 2}, {}, Reserved(2, 0, 1)),
        ({"threads": 2}, {"workers_per_node": 4}, Reserved(2, 0, 4)),
        ({"threads": 2}, {"workers_per_node": 40}, Reserved(2, 0, 8)),
        ({}, {"worker_cpus": 4, "workers_per_node": 2}, Reserved(4, 0, 2)),
        ({"threads": 2, "device": "gpu(0)"}, {}, Reserved(2, 1, 4)),
        ({"threads": 2, "device": "gpu(0)"}, {"worker_gpus": 2}, Reserved(2, 2, 2)),
        ({"threads": 32}, {}, None),
        ({"threads": 1}, {"worker_gpus": 8}, None),
    ],
)
def test_a_worker_reserves_what_its_cases_need(make_case, settings, options, reserved):
    case = with_some(make_case("relu"), **settings)
    assert reserve([case], NODE, FleetOptions(**options)) == reserved


def test_it_reserves_for_the_case_that_needs_most(make_case):
    cases = [with_some(make_case("relu"), threads=count) for count in (1, 3)]
    assert reserve(cases, NODE, FleetOptions()) == Reserved(3, 0, 1)


def test_a_program_has_the_whole_node():
    case = Case(ScriptTarget("train", "main.py"), {})
    assert reserve([case], NODE, FleetOptions()) == Reserved(16, 4, 1)


def test_cases_that_a_comparison_joins_have_one_key(make_case):
    case = make_case("relu", shape=(2, 3))
    assert pair_key(case) == pair_key(with_some(case, dtype="float64", threads=2))
    assert pair_key(case) != pair_key(make_case("relu", shape=(3, 2)))
    assert pair_key(case) != pair_key(make_case("negative", shape=(2, 3)))
    script = Case(ScriptTarget("train", "main.py"), {})
    other = msgspec.structs.replace(
        script, settings=msgspec.structs.replace(script.settings, python="b")
    )
    assert pair_key(script) == pair_key(other)


def test_nodes_of_records_are_those_of_their_keys(make_case):
    one, other = make_case("relu"), make_case("negative")
    assert pairs_of([(one, "a"), (other, "")]) == {pair_key(one): "a"}
