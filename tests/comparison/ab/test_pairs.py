"""Which cases stand opposite each other."""

import msgspec
import pytest

from opperf.comparison.ab.pairs import Pair, pair_cases
from opperf.model import (
    CallableTarget,
    Case,
    FileTarget,
    Fill,
    OperatorTarget,
    Settings,
    TensorSpec,
)
from opperf.sources.registry import Plan


def case(name, *shapes, dtype="float32", target=None, names=("lhs", "rhs", "third"), **more):
    plain = {name: value for name, value in more.items() if name not in ("threads",)}
    settings = {name: value for name, value in more.items() if name in ("threads",)}
    tensors = {n: TensorSpec(s, dtype) for n, s in zip(names, shapes, strict=False)}
    return Case(
        target or OperatorTarget("fake", name),
        {**tensors, **plain},
        Settings(dtype=dtype, **settings),
    )


def plan(*cases, **excluded):
    return Plan(cases, excluded)


def pairs(a, b, positional=False):
    found = pair_cases([plan(*a)], [plan(*b)], positional)
    return [(pair.a, pair.b) for pair in found.pairs], found.alone


def test_the_same_cases():
    cases = [case("add", (2, 2), (2, 2)), case("add", (3,), (3,)), case("dot", (2, 2), (2, 2))]
    assert pairs(cases, reversed(cases)) == ([(one, one) for one in cases], {})


@pytest.mark.parametrize("other", [{"dtype": "float16"}, {"threads": 2}])
def test_what_the_arms_set_does_not_count(other):
    a = [case("add", (2,), (2,)), case("cast", (2,), to="float32"), case("add", (3,), (3,))]
    to = other.get("dtype", "float32")
    b = [
        case("add", (3,), (3,), **other),
        case("cast", (2,), to=to, **other),
        case("add", (2,), (2,), **other),
    ]
    assert pairs(a, b) == ([(a[0], b[2]), (a[1], b[1]), (a[2], b[0])], {})


def test_a_dtype_that_is_not_the_one_asked_for_counts():
    floats, halves = case("take", (2,), (2,)), case("take", (2,), (2,), dtype="float16")
    index = TensorSpec((2,), "int32")

    def with_index(one):
        return msgspec.structs.replace(one, arguments={**one.arguments, "rhs": index})

    assert pairs([with_index(floats)], [with_index(halves)])[1] == {}
    assert pairs([with_index(floats)], [halves])[0] == []


def test_cases_that_differ_in_nothing_else_are_paired_in_their_order():
    fills = [Fill("uniform", 0.0, high) for high in (1.0, 2.0)]
    a = [
        case("add", third=TensorSpec((2,), fill=fill), threads=threads)
        for threads, fill in zip((None, None, 2, 2), fills * 2, strict=True)
    ]
    a, b = a[:2], a[2:]
    assert pairs(a, b)[0] == [(a[0], b[0]), (a[1], b[1])]


def test_what_has_no_partner_is_named_with_the_reason():
    a, b = case("add", (2,), (2,)), case("add", (3,), (3,))
    only = case("dot", (2, 2), (2, 2), axis=1)
    found = pair_cases([plan(a, only)], [plan(b, dot="this build has none")], positional=False)
    assert found.pairs == ()
    assert found.alone == {
        "add (lhs: (2,), rhs: (2,)) in A": "B has no case with these inputs",
        "dot (lhs: (2, 2), rhs: (2, 2), axis: 1) in A": (
            "B has no case of this operator: this build has none"
        ),
        "add (lhs: (3,), rhs: (3,)) in B": "A has no case with these inputs",
    }


def test_operators_of_the_arms_own_are_paired_by_position():
    one = CallableTarget("fake", "nd.add")
    other = CallableTarget("fake", "np.add")
    a = [case("add", (2,), (2,), target=one), case("add", (3,), (3,), target=one, axis=1)]
    b = [
        case("add", (3,), (3,), target=other, names=("x1", "x2"), axes=1),
        case("add", (2,), (2,), target=other, names=("x1", "x2")),
    ]
    assert pairs(a, b, positional=True) == ([(a[0], b[1]), (a[1], b[0])], {})
    assert Pair(a[0], b[1]).label == "nd.add | np.add"
    assert pairs(a, b)[0] == []


def test_each_operator_is_paired_with_the_one_in_its_place():
    a, b = case("add", (2,)), case("dot", (2,))
    c, d = case("sum", (2,)), case("max", (2,))
    found = pair_cases([plan(a), plan(b)], [plan(c), plan(d)], positional=True)
    assert [(pair.a, pair.b) for pair in found.pairs] == [(a, c), (b, d)]


def test_a_pair_is_both_its_sides():
    base, fused, wrong = case("eager", (2,)), case("fused", (2,)), case("wrong", (2,))
    found = pair_cases([plan(base)] * 3, [plan(fused), plan(wrong), plan(fused)], positional=True)
    assert [(pair.a, pair.b) for pair in found.pairs] == [(base, fused), (base, wrong)]
    assert len({pair.id for pair in found.pairs}) == 2 and found.repeated == 1
    # The arms' settings decide B's case where both call the same.
    faster = case("eager", (2,), threads=2)
    assert Pair(base, faster).id == base.id


def test_a_call_of_two_files_was_seen_as_often_as_in_both():
    seen = msgspec.structs.replace(case("add", (2,)), count=3)
    found = pair_cases([plan(seen)] * 2, [plan(seen)] * 2, positional=False)
    (pair,) = found.pairs
    assert (pair.a.count, pair.b.count, found.repeated) == (6, 6, 1)


def test_functions_of_one_name_are_shown_with_their_files():
    one, other = (FileTarget("fake", f"{name}.py", "run") for name in ("old", "new"))
    found = Pair(case("run", (2,), target=one), case("run", (2,), target=other))
    assert found.label == "old.py:run | new.py:run"


def test_no_case_without_a_partner_hides_another():
    alike = [case("add", (2,)), case("add", (2,), threads=2)]
    assert len(pairs(alike, [])[1]) == len(pairs([], alike)[1]) == 2


def test_settings_of_both_arms_are_told_and_those_of_one_are_not():
    a, b = (case("add", (2,), dtype="float64", threads=threads) for threads in (1, 2))
    assert Pair(a, b).settings == Pair(a, a).settings == "float64"
    assert Pair(b, b).settings == "float64, threads 2"
    assert Pair(case("add", (2,)), a).settings == ""


def test_functions_with_the_same_names_are_paired_by_them_and_others_by_position():
    f, g = (FileTarget("fake", "mine.py", name) for name in "fg")
    a = case("f", (2,), (3,), target=f, names=("x", "y"))
    turned = case("g", (3,), (2,), target=g, names=("y", "x"))
    other = case("g", (2,), (3,), target=g, names=("a", "b"))
    (pair,) = pair_cases([plan(a)], [plan(turned)], positional=True).pairs
    assert pair.b is turned and pair.names == {}
    (pair,) = pair_cases([plan(a)], [plan(other)], positional=True).pairs
    assert pair.b is other and pair.names == {"a": "x", "b": "y"}
