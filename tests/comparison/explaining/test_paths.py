"""The frames of a flame graph."""

import pytest

from opperf.comparison.explaining.functions import Function
from opperf.comparison.explaining.paths import make_graph


def a(name):
    return (name, "a.so")


def boxes(graph):
    return [(box.depth, box.function.name, box.base, box.new) for box in graph.boxes]


@pytest.fixture
def dump(dump_of, make_body):
    """main calls f and g, which both call h."""

    def made(name="dump", own=60, calls=1):
        body = make_body(
            {a("main"): 10, a("f"): 20, a("g"): 30, a("h"): own + 20},
            [
                (a("main"), a("f"), 20 + own),
                (a("main"), a("g"), 50),
                (a("f"), a("h"), own),
                (a("g"), a("h"), 20),
            ],
        )
        return dump_of(body, name, trigger=f"opperf calls={calls}")

    return made


def test_a_function_is_divided_among_its_callers(dump):
    assert boxes(make_graph(dump(), dump(), "Ir")) == [
        (0, "all", 140.0, 140.0),
        (1, "main", 140.0, 140.0),
        (2, "f", 80.0, 80.0),
        (3, "h", 60.0, 60.0),
        (2, "g", 50.0, 50.0),
        (3, "h", 20.0, 20.0),
    ]


def test_frames_are_below_their_callers_side_by_side(dump):
    graph = make_graph(dump(), dump(), "Ir")
    assert [(box.begin, box.function.name) for box in graph.boxes] == [
        (0.0, "all"),
        (0.0, "main"),
        (0.0, "f"),
        (0.0, "h"),
        (80.0, "g"),
        (80.0, "h"),
    ]
    assert graph.total == 140.0


def test_frames_have_the_differences_per_call(dump):
    graph = make_graph(dump("base", 60, 1), dump("new", 200, 2), "Ir")
    changes = {(box.depth, box.function.name, box.begin): box.change for box in graph.boxes}
    assert changes == {
        (0, "all", 0.0): 0.0,
        (1, "main", 0.0): 0.0,
        (2, "f", 0.0): 30.0,
        (3, "h", 0.0): 40.0,
        (2, "g", 110.0): -25.0,
        (3, "h", 110.0): -10.0,
    }


def test_paths_that_only_one_dump_has(dump_of, make_body):
    base = dump_of(make_body({a("main"): 5, a("f"): 9}, [(a("main"), a("f"), 9)]), "base")
    new = dump_of(make_body({a("main"): 5, a("g"): 7}, [(a("main"), a("g"), 7)]), "new")
    graph = make_graph(base, new, "Ir")
    assert boxes(graph)[-1] == (2, "g", 0.0, 7.0)
    assert [(box.function.name, box.change) for box in graph.vanished] == [("f", -9.0)]


def test_recursion_ends_and_the_frames_add_up(dump_of, make_body):
    # f calls g, which calls f, and once more: 5 + 1 + 4 + 60 + 80 + 50 instructions.
    body = make_body(
        {a("main"): 5, a("f"): 1, a("g"): 4, a("f'2"): 110, a("g'2"): 80},
        [
            (a("main"), a("f"), 195),
            (a("f"), a("g"), 194),
            (a("g"), a("f'2"), 190),
            (a("f'2"), a("g'2"), 130),
            (a("g'2"), a("f'2"), 50),
        ],
    )
    graph = make_graph(dump_of(body), dump_of(body), "Ir")
    assert graph.total == pytest.approx(200)
    names = [box.function.name for box in graph.boxes]
    assert names == ["all", "main", "f", "g", "f", "g"]


def test_pythons_frames_are_one_and_their_callees_are_their_callers(dump_of, make_body):
    py = ("type_call", "libpython3.11.so.1.0")
    body = make_body(
        {py: 30, a("f"): 20, ("PyObject_Call", "x"): 10, a("g"): 40},
        [
            (py, a("f"), 70),
            (a("f"), ("PyObject_Call", "x"), 50),
            (("PyObject_Call", "x"), a("g"), 40),
        ],
    )
    dump = dump_of(body)
    assert [one[:2] + one[3:] for one in boxes(make_graph(dump, dump, "Ir", python=False))] == [
        (0, "all", 100.0),
        (1, "f", 60.0),
        (2, "g", 40.0),
        (1, "Python's own frames", 40.0),
    ]


def test_what_is_too_small_belongs_to_its_caller(dump_of, make_body):
    body = make_body(
        {a("main"): 10**6, a("f"): 5000, a("g"): 10},
        [(a("main"), a("f"), 5000), (a("main"), a("g"), 10)],
    )
    graph = make_graph(dump_of(body), dump_of(body), "Ir")
    assert [box.function.name for box in graph.boxes] == ["all", "main", "f"]
    assert graph.boxes[1].new == pytest.approx(10**6 + 5010)


def test_an_empty_dump_has_no_paths(dump_of):
    graph = make_graph(dump_of(""), dump_of(""), "Ir")
    assert [box.function for box in graph.boxes] == [Function("all", "")] and graph.total == 0
