"""Which cases stand opposite each other."""

import json

import msgspec
import pytest

from opperf.comparison.ab.pairs import (
    Pair,
    Pairing,
    choose_by_id,
    pair_cases,
    plans_of,
    plans_of_files,
    usual_id,
)
from opperf.comparison.ab.process import Absence, reasons_of
from opperf.errors import UnknownOperatorError, UsageError
from opperf.model import (
    CallableTarget,
    Case,
    FileTarget,
    Fill,
    Header,
    OperatorTarget,
    Run,
    Settings,
    TensorSpec,
)
from opperf.model.runs import SCHEMA_VERSION
from opperf.reports.writing import write
from opperf.sources.base import RunFile, open_files
from opperf.sources.completing import Completed
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection


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
    found = pair_cases({"A": [plan(*a)], "B": [plan(*b)]}, positional)
    return [(pair.a, pair.b) for pair in found.pairs], reasons_of(found.alone)


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
    found = pair_cases(
        {"A": [plan(a, only)], "B": [plan(b, dot="this build has none")]}, positional=False
    )
    assert found.pairs == ()
    assert reasons_of(found.alone) == {
        "add (lhs: (2,), rhs: (2,))": "B: no case with these inputs",
        "dot (lhs: (2, 2), rhs: (2, 2), axis: 1)": (
            "B: no case of this operator: this build has none"
        ),
        "add (lhs: (3,), rhs: (3,))": "A: no case with these inputs",
    }
    assert [one.is_missing for one in found.alone] == [True, True, False]


def test_other_inputs_of_operators_of_the_arms_own_are_no_finding_and_no_case_is():
    a, b, c = case("old", (2,), (2,)), case("new", (3,), (3,)), case("old", (4,), (4,))
    found = pair_cases({"A": [plan(a)], "B": [plan(b)]}, positional=True)
    assert [one.is_missing for one in found.alone] == [False, False]
    (gone,) = pair_cases({"A": [plan(c)], "B": [plan(new="it raises")]}, positional=True).alone
    assert gone.is_missing and gone.reason == "B: no case of this operator: it raises"


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
    found = pair_cases({"A": [plan(a), plan(b)], "B": [plan(c), plan(d)]}, positional=True)
    assert [(pair.a, pair.b) for pair in found.pairs] == [(a, c), (b, d)]


def test_a_pair_is_both_its_sides():
    base, fused, wrong = case("eager", (2,)), case("fused", (2,)), case("wrong", (2,))
    found = pair_cases(
        {"A": [plan(base)] * 3, "B": [plan(fused), plan(wrong), plan(fused)]}, positional=True
    )
    assert [(pair.a, pair.b) for pair in found.pairs] == [(base, fused), (base, wrong)]
    assert len({pair.id for pair in found.pairs}) == 2 and found.repeated == 1
    # The arms' settings decide B's case where both call the same.
    faster = case("eager", (2,), threads=2)
    assert Pair(base, faster).id == base.id


def test_a_call_of_two_files_was_seen_as_often_as_in_both():
    seen = msgspec.structs.replace(case("add", (2,)), count=3)
    again = msgspec.structs.replace(seen, origin="second.jsonl", count=4)
    plans = [plan(seen), plan(again)]
    found = pair_cases({"A": plans, "B": plans}, positional=False)
    (pair,) = found.pairs
    assert (pair.a.count, pair.b.count, found.repeated) == (7, 7, 1)
    assert pair.a.origin == pair.b.origin == seen.origin


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
    (pair,) = pair_cases({"A": [plan(a)], "B": [plan(turned)]}, positional=True).pairs
    assert pair.b is turned and pair.names == {}
    (pair,) = pair_cases({"A": [plan(a)], "B": [plan(other)]}, positional=True).pairs
    assert pair.b is other and pair.names == {"a": "x", "b": "y"}


class Lacking:
    """A worker whose registry has some operators."""

    def __init__(self, *names):
        self._names = names

    def plan(self, selection, found=None):
        for pattern in selection.patterns:
            if pattern not in self._names:
                raise UnknownOperatorError(f"no operator {pattern!r}")
        return plan(*(case(name, (2,)) for name in selection.patterns))


def test_what_the_second_registry_lacks_is_missing_and_no_error():
    asked = Selection(patterns=("dot", "add"))

    def plans(is_second, *names):
        return plans_of(Lacking(*names), "fake", asked, (), print, is_second=is_second)

    found = pair_cases({"A": plans(False, "add", "dot"), "B": plans(True, "add")}, positional=False)
    assert [pair.label for pair in found.pairs] == ["add"]
    (gone,) = found.alone
    assert gone.is_missing and gone.reason == "B: no case of this operator: no operator 'dot'"
    none = pair_cases({"A": plans(False, "add", "dot"), "B": plans(True)}, positional=False)
    assert [one.operator for one in none.alone if one.is_missing] == ["dot", "add"]
    with pytest.raises(UnknownOperatorError):
        plans(False, "add")


PASSES = ("forward", "backward")


@pytest.fixture
def file(make_case, tmp_path):
    """A run file of two planned cases of the fake framework, with settings of their own."""
    own = {"dtype": "float64", "threads": 2, "seed": 7}
    cases = tuple(make_case(name, passes=PASSES, **own) for name in ("relu", "negative"))
    header = Header(schema=SCHEMA_VERSION, started="2025-01-02T03:04:05+00:00", options={})
    path = tmp_path / "base.jsonl"
    write(Run(header, (), None, {}, cases), path, "jsonl")
    return path


def selection(ids=(), **settings):
    common = {"device": "cpu(0)", "threads": 1, "precision": 0.005, "dtype": "float32", **settings}
    return Selection(ids=ids, settings=Settings(**common))


def planned(
    path, ids=(), forward_only=False, assigned=(), framework="fake", worker=None, **settings
):
    chosen = selection(ids, **settings)
    (plan,) = plans_of_files(worker, open_files([path]), framework, chosen, forward_only, assigned)
    return plan.cases


def test_the_calls_are_those_of_the_file_and_the_process_is_the_arms(file):
    for ours, theirs in zip(planned(file), RunFile(file).cases(), strict=True):
        assert (ours.target, ours.arguments, ours.passes) == (
            theirs.target,
            theirs.arguments,
            theirs.passes,
        )
        settings = ours.settings
        assert (settings.dtype, settings.seed) == ("float64", 7)
        assert (settings.threads, settings.precision, settings.runs) == (1, 0.005, None)


def test_an_arm_can_assign_what_the_file_has(file):
    for case in planned(file, assigned=("dtype",), dtype="float16"):
        assert case.settings.dtype == "float16"
        assert {spec.dtype for spec in case.arguments.values()} == {"float16"}


def test_ids_are_those_in_the_file(file):
    wanted = next(RunFile(file).cases())
    assert [case.label for case in planned(file, ids=(wanted.id[:6],))] == [wanted.label]
    with pytest.raises(UsageError, match=r"--id ffff: no case of .*base\.jsonl has this id"):
        planned(file, ids=(wanted.id, "ffff"))


def test_the_backward_pass_can_be_excluded(file):
    assert {case.passes for case in planned(file, forward_only=True)} == {("forward",)}


def test_another_framework_has_to_be_named(file):
    with pytest.raises(UsageError, match="has cases of fake, .* add --framework fake"):
        planned(file, framework="numpy")


LOG = """Operator: aten.mm.default
cnt: 3, ((T([4, 4], f16), T([4, 4], f16)), {})
cnt: 2, ((T([4, 4], f32), T([4, 4], f32)), {})
"""


class Completing:
    """A worker that gives the arguments of a call their names, and the call a category."""

    def complete(self, cases, batch_factor=1.0):
        return [
            Completed(
                msgspec.structs.replace(
                    case,
                    arguments=dict(zip("ab", case.arguments.values(), strict=False)),
                    category="unary",
                )
            )
            for case in cases
        ]


def test_calls_of_a_recording_are_completed_and_counted(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(LOG)
    recorded = {"framework": "torch", "worker": Completing()}
    cases = planned(path, **recorded)
    assert [(case.count, list(case.arguments)) for case in cases] == [
        (3, ["a", "b"]),
        (2, ["a", "b"]),
    ]
    (one,) = planned(path, assigned=("dtype",), dtype="float32", **recorded)
    assert one.count == 5
    with pytest.raises(UsageError, match="has cases of torch, .* add --framework torch"):
        planned(path, worker=Completing())


def test_a_case_that_an_arm_makes_equal_to_another_counts_once(file, make_case, tmp_path):
    header = Header(schema=SCHEMA_VERSION, started="2025-01-02T03:04:05+00:00", options={})
    cases = tuple(msgspec.structs.replace(make_case("relu", threads=n), count=4) for n in (1, 2))
    write(Run(header, (), None, {}, cases), tmp_path / "two.jsonl", "jsonl")
    (one,) = planned(tmp_path / "two.jsonl")
    assert one.count == 4


@pytest.fixture
def pairing(make_case):
    def pair(name):
        a = make_case(name, threads=1)
        return Pair(a, msgspec.structs.replace(a, settings=Settings(threads=1, dtype="float16")))

    alone = Absence("e4b", "exp", "data: (2,)", ("forward",), {"B": "no case"}, is_missing=True)
    return Pairing((pair("relu"), pair("negative")), (alone,))


@pytest.mark.parametrize(
    "read", [lambda pair: pair.a.id, lambda pair: pair.b.id[:8], lambda pair: usual_id(pair.a)]
)
def test_a_pair_has_the_ids_of_both_cases_and_of_the_usual_process(pairing, read):
    first, _ = pairing.pairs
    found = choose_by_id(pairing, (read(first),))
    assert found == Pairing((first,), ())
    assert choose_by_id(pairing, (read(first), "e4b")).alone == pairing.alone


def test_all_pairs_without_an_id_and_an_error_for_an_unknown_one(pairing):
    assert choose_by_id(pairing, ()) is pairing
    with pytest.raises(UsageError, match="--id ffff: no pair of cases has this id"):
        choose_by_id(pairing, ("ffff",))


def test_cases_of_a_configuration_are_completed_and_have_the_settings_of_the_arm(tmp_path):
    tensor = {"type": "tensor", "dtype": "double", "shape": [4]}
    path = tmp_path / "exp.json"
    content = {"torch.exp": {"config": [{"input": [{"args": [tensor]}]}]}}
    path.write_text(json.dumps(content))
    recorded = {"framework": "torch", "worker": Completing()}
    (case,) = planned(path, **recorded, device="gpu(0)", profiler="python")
    assert case.category == "unary"
    settings = case.settings
    assert (settings.device, settings.profiler, settings.dtype) == ("gpu(0)", "python", "float64")
    with pytest.raises(UsageError, match="has cases of torch, and fake is measured"):
        planned(path)
