"""Exclusive and inclusive counts, with recursion."""

import pytest

from opperf.comparison.explaining.functions import Function, count_functions, is_python_frame


def counts(dump, event=0):
    return {
        function.name: (one.own[event], one.inclusive[event])
        for function, one in count_functions(dump).items()
    }


def a(name):
    return (name, "liba.so")


def test_inclusive_counts_are_of_callees_too(dump_of, make_body):
    body = make_body(
        {a("main"): 20, a("f"): 100, a("g"): 700},
        [(a("main"), a("f"), 400), (a("main"), a("g"), 400), (a("f"), a("g"), 300)],
    )
    assert counts(dump_of(body)) == {"main": (20, 820), "f": (100, 400), "g": (700, 700)}


def test_nested_calls_count_once(dump_of, make_body):
    # main calls f, which calls itself twice, one in the other: 1 + 10 + 100 instructions.
    body = make_body(
        {a("main"): 5, a("f"): 1, a("f'2"): 110},
        [(a("main"), a("f"), 111), (a("f"), a("f'2"), 110), (a("f'2"), a("f'2"), 100)],
    )
    assert counts(dump_of(body)) == {"main": (5, 116), "f": (111, 111)}


def test_calls_of_itself_count_once_where_they_are_not_apart(dump_of, make_body):
    body = make_body({a("main"): 5, a("f"): 111}, [(a("main"), a("f"), 111), (a("f"), a("f"), 210)])
    assert counts(dump_of(body)) == {"main": (5, 116), "f": (111, 111)}


def test_a_function_of_a_cycle_has_at_most_the_counts_of_the_cycle(dump_of, make_body):
    # even(3) of 10 instructions each, odd of 100, and a leaf of 1000 in each odd.
    body = make_body(
        {a("main"): 5, a("even"): 20, a("odd"): 200, a("leaf"): 2000},
        [
            (a("main"), a("even"), 2220),
            (a("even"), a("odd"), 2210 + 1100),
            (a("odd"), a("even"), 1110),
            (a("odd"), a("leaf"), 2000),
        ],
    )
    assert counts(dump_of(body)) == {
        "main": (5, 2225),
        "even": (20, 2220),
        "odd": (200, 2220),
        "leaf": (2000, 2000),
    }


def test_a_nested_call_that_began_before_the_dump_is_counted(dump_of, make_body):
    # Of eval only nested calls are in the dump, and one of them is not explained by a call.
    body = make_body(
        {a("eval"): 2, a("eval'2"): 10, a("add"): 50},
        [(a("eval'2"), a("add"), 40), (a("eval"), a("add"), 10)],
    )
    assert counts(dump_of(body)) == {"eval": (12, 62), "add": (50, 50)}


def test_each_event_is_counted(dump_of):
    body = "fn=f\n1 5 1\ncfn=g\ncalls=1 1\n1 30 7\nfn=g\n1 30 7"
    dump = dump_of(body, events="Ir Dr")
    assert counts(dump, 0) == {"f": (5, 35), "g": (30, 30)}
    assert counts(dump, 1) == {"f": (1, 8), "g": (7, 7)}


def test_functions_of_two_objects_are_two(dump_of, make_body):
    dump = dump_of(make_body({("f", "/x/liba.so"): 1, ("f", "/y/libb.so"): 2}))
    assert set(count_functions(dump)) == {Function("f", "liba.so"), Function("f", "libb.so")}


def test_the_source_file_is_known_of_functions_with_code(dump_of):
    dump = dump_of("fl=a.c\nfn=f\n1 5\ncfi=b.c\ncfn=g\ncalls=1 1\n1 3")
    assert [one.file for one in count_functions(dump).values()] == ["a.c", "???"]


def test_an_empty_dump_has_no_functions(dump_of):
    assert count_functions(dump_of("")) == {}


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("type_call", "libpython3.11.so.1.0"),
        ("type_call", "libpython3.13t.so.1.0"),
        ("type_call", "python3.12"),
        ("type_call", "python"),
        ("_PyEval_EvalFrameDefault", "???"),
        ("_PyEval_EvalFrameDefault.cold", "???"),
        ("PyObject_Vectorcall", "libtorch_python.so"),
        ("_Py_Dealloc", "_ext.so"),
    ],
)
def test_the_interpreters_own(name, where):
    assert is_python_frame(Function(name, where))


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("PyArray_NewFromDescr", "_multiarray_umath.so"),
        ("PyUFunc_GenericReduction", "_multiarray_umath.so"),
        ("PyTorchStreamReader::getRecord(char const*)", "libtorch_cpu.so"),
        ("pybind11::cpp_function::dispatcher(_object*)", "libtorch_python.so"),
        ("THPVariable_add", "libtorch_python.so"),
        ("free", "libc.so.6"),
        ("f", "pythonic.cpp.so"),
    ],
)
def test_others(name, where):
    assert not is_python_frame(Function(name, where))
