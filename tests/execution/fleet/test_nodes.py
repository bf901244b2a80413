"""Names of nodes, and which of them are chosen."""

import pytest

from opperf.errors import UsageError
from opperf.execution.fleet.nodes import alive, choose, has_labels


def listed(id, port=1, host="host", name="10.0.0.1", labels=None, resources=None, is_alive=True):
    return {
        "NodeID": id,
        "Alive": is_alive,
        "NodeName": name,
        "NodeManagerAddress": "10.0.0.1",
        "NodeManagerHostname": host,
        "NodeManagerPort": port,
        "Labels": labels or {},
        "Resources": resources or {"CPU": 4.0},
    }


def test_a_name_is_that_of_a_label_or_of_ray_or_the_host():
    nodes = alive(
        [
            listed("1", labels={"name": "left"}),
            listed("2", name="right"),
            listed("3", host="box"),
            listed("4", is_alive=False),
        ]
    )
    assert [(node.id, node.name) for node in nodes] == [("3", "box"), ("1", "left"), ("2", "right")]


def test_nodes_of_one_host_are_numbered_in_the_order_of_their_ports():
    nodes = alive([listed("b", port=9), listed("a", port=3)])
    assert [(node.id, node.name) for node in nodes] == [("a", "host-1"), ("b", "host-2")]


def test_they_are_chosen_by_labels_names_and_resources():
    nodes = alive(
        [
            listed("1", host="a", labels={"gpu": "h100"}, resources={"CPU": 8.0, "GPU": 8.0}),
            listed("2", host="b", labels={"gpu": "a100"}, resources={"CPU": 8.0, "GPU": 2.0}),
        ]
    )
    assert [node.gpus for node in nodes] == [8, 2]
    assert [node.id for node in choose(nodes, {})] == ["1", "2"]
    assert [node.id for node in choose(nodes, {"gpu": "a100"})] == ["2"]
    assert [node.id for node in choose(nodes, {"GPU": "4"})] == ["1"]
    assert [node.id for node in choose(nodes, {"name": "b"})] == ["2"]
    assert not has_labels(nodes[0], {"gpu": "a100", "GPU": "8"})


def test_labels_that_none_has_are_refused_with_those_that_there_are():
    nodes = alive([listed("1", host="a", labels={"gpu": "h100", "ray.io/node-id": "1"})])
    with pytest.raises(UsageError, match=r"--nodes gpu=a100: .*1 nodes.*gpu=h100") as refused:
        choose(nodes, {"gpu": "a100"})
    assert "ray.io" not in str(refused.value)
