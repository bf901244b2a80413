"""Sweeps: what is checked before planning, and how the plans of points are joined."""

import msgspec
import pytest

from opperf.errors import UsageError
from opperf.model import Case, ObjectTarget, OperatorTarget, TensorSpec
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import (
    MAX_CASES,
    MAX_POINTS,
    at_point,
    check_size,
    check_sweeps,
    join_points,
    points_of,
)
from opperf.sources.varying import deduplicate

SWEPT = Selection(
    sweeps={"n": (128, 256), "m": (1, 2, 3)},
    swept_shapes={"data": (16, "n", "m"), "lhs": ("n",)},
    shapes={"rhs": (4, 4)},
)


def a_case(name, **shapes):
    arguments = {argument: TensorSpec(shape) for argument, shape in shapes.items()}
    return Case(OperatorTarget("fake", name), arguments)


def test_several_sweeps_multiply_the_last_one_fastest():
    points = list(points_of(SWEPT))
    assert points == [{"n": n, "m": m} for n in (128, 256) for m in (1, 2, 3)]
    assert list(points_of(Selection())) == [{}]


def test_a_selection_at_a_point_has_numbers_in_place_of_variables():
    found = at_point(SWEPT, {"n": 128, "m": 3})
    assert found.shapes == {"rhs": (4, 4), "data": (16, 128, 3), "lhs": (128,)}
    assert not found.sweeps and not found.swept_shapes


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"swept_shapes": {"data": (16, "n")}},
            "--sweep m=...: no shape and no value uses m; write it as",
        ),
        (
            {"swept_shapes": {"data": ("n", "m", "nn")}},
            "--shape data=nxmxnn: 'nn' is neither a number nor a swept variable; did you mean n",
        ),
        ({"sweeps": {}}, "'n' is neither a number nor a swept variable; add --sweep n=128"),
        (
            {"sweeps": {"n": (0, 1), "m": (2,)}},
            "0 is not an extent of --shape data=16xnxm; begin at 1",
        ),
        (
            {"sweeps": {"n": tuple(range(1, 502)), "m": (1, 2)}},
            f"n and m have 1002 values together, and at most {MAX_POINTS}",
        ),
    ],
)
def test_a_sweep_that_cannot_be_planned_is_refused(changes, message):
    check_sweeps(SWEPT)
    with pytest.raises(UsageError) as error:
        check_sweeps(msgspec.structs.replace(SWEPT, **changes))
    assert message in str(error.value)


def test_a_selection_without_a_sweep_has_nothing_to_check():
    check_sweeps(Selection(shapes={"data": (4,)}))


def test_too_many_cases_are_refused_of_a_sweep_only():
    cases = tuple(a_case("relu", data=(n,)) for n in range(1, MAX_CASES + 2))
    plan = Plan(cases=cases, excluded={})
    check_size(plan, Selection())
    check_size(msgspec.structs.replace(plan, cases=cases[1:]), SWEPT)
    with pytest.raises(UsageError, match=f"{MAX_CASES + 1} cases, and a sweep has at most"):
        check_size(plan, SWEPT)


def planned(n, m):
    """The plan at a point: two configurations of one operator, one of another, and one operator
    that has none of the swept arguments."""
    return {"n": n, "m": m}, Plan(
        cases=(
            a_case("relu", data=(16, n, m)),
            a_case("relu", data=(16, n, m), mask=(4,)),
            a_case("add", lhs=(n,)),
            a_case("zeros"),
        ),
        excluded={"odd": "no rule"} | ({"add": "once"} if n == 128 else {}),
    )


def test_a_case_carries_the_values_that_its_own_inputs_have():
    plan = join_points([planned(n, m) for n in (128, 256) for m in (1, 2)], SWEPT)
    found = [(case.label, case.point, case.tags) for case in deduplicate(plan.cases)]
    points = [{"n": n, "m": m} for n in (128, 256) for m in (1, 2)]
    assert found == [
        *(("relu", point, ("configuration 0",)) for point in points),
        *(("relu", point, ("configuration 1",)) for point in points),
        *(("add", {"n": n}, ("configuration 0",)) for n in (128, 256)),
        ("zeros", {}, ()),
    ]
    # An operator with a case at some point is not excluded.
    assert plan.excluded == {"odd": "no rule"}


def test_a_case_carries_the_values_that_build_its_layer():
    target = ObjectTarget("torch", "Linear", {"out_features": 8})
    case = msgspec.structs.replace(a_case("linear", input=(4, 4)), target=target)
    swept = Selection(values={"out_features": "k"}, sweeps={"k": (8, 16)})
    (marked,) = join_points([({"k": 8}, Plan(cases=(case,), excluded={}))], swept).cases
    assert marked.point == {"k": 8}


def test_the_ids_are_those_of_runs_with_that_shape():
    plan = join_points([planned(128, 1)], SWEPT)
    assert [case.id for case in plan.cases] == [case.id for case in planned(128, 1)[1].cases]
