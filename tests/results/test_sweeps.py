"""Sweeps as text."""

from opperf.model import Case, ObjectTarget, OperatorTarget, TensorSpec
from opperf.results.sweeps import (
    configurations_of,
    point_text,
    sweep_text,
    swept_inputs,
    swept_labels,
    variables_of,
)


def a_case(point, **arguments):
    return Case(OperatorTarget("fake", "relu"), arguments, point=point)


def named(records):
    return configurations_of([record.case for record in records])


def test_a_point_as_text():
    assert point_text({"n": 128, "m": 4}) == "n=128, m=4"
    assert point_text({}) == ""


def test_the_variables_and_their_ranges():
    cases = [a_case({"n": 8, "m": 2}), a_case({"n": 4}), a_case({})]
    assert variables_of(cases) == ("n", "m")
    assert sweep_text(cases) == "n 4 to 8, m 2 to 2"
    assert sweep_text([a_case({})]) == ""


def test_configurations_are_named_by_the_values_in_which_they_differ(make_point):
    def configured(number, n=128, **arguments):
        return make_point(n=n, configuration=number, arguments={"axis": -1, **arguments})

    records = [
        configured(0),
        configured(1, mask=TensorSpec((4,)), masked=True),
        configured(1, 256, mask=TensorSpec((4,)), masked=True),
    ]
    assert named(records) == ["data: (16, 128)", "masked: True", "masked: True"]
    # Where tensors alone differ, they are the name; where nothing shown does, the place is.
    shapes = [configured(0), configured(1, mask=TensorSpec((4,)))]
    assert named(shapes) == ["data: (16, 128)", "mask: (4,)"]
    alike = [configured(0), configured(1)]
    assert named(alike) == ["configuration 0", "configuration 1"]
    assert named([configured(0), configured(0, 256)]) == []


def test_every_configuration_has_a_name_that_tells_its_whole_layout(make_point):
    shape = (64, 128)
    strided = {
        "left": TensorSpec(shape, strides=(256, 2)),
        "right": TensorSpec(shape, strides=(1, 64)),
    }
    records = [
        make_point("add", arguments={"left": TensorSpec(shape), "right": TensorSpec(shape)}),
        make_point("add", configuration=1, arguments=strided),
        make_point("relu"),
    ]
    assert named(records) == [
        "left: (64, 128), right: (64, 128)",
        "left: (64, 128) strides (256, 2), right: (64, 128) strides (1, 64)",
        "data: (16, 128)",
    ]


def test_inputs_have_variables_in_the_place_of_the_extents_that_they_set():
    cases = [
        a_case(
            {"n": n, "m": 3},
            data=TensorSpec((16, 3, n)),
            index=TensorSpec((n,), "int64"),
            pieces=(TensorSpec((n, 2)), TensorSpec((2,))),
            twice=2 * n,
            axis=(0, 1),
            name="a",
        )
        for n in (4, 8)
    ]
    assert swept_inputs(cases) == (
        "data: (16, 3, n), index: (n,) int64, pieces: [(n, 2), (2,)], twice: …, axis: (0, 1), "
        "name: a"
    )


def test_details_that_vary_are_not_among_the_common_inputs():
    cases = [
        a_case({"n": n}, data=TensorSpec((n,), dtype)) for n, dtype in ((4, "int8"), (8, "bool"))
    ]
    assert swept_inputs(cases) == "data: (n,)"


def test_the_points_of_a_layers_sweep_share_a_label():
    def layer(width, **point):
        target = ObjectTarget("torch", "nn.Norm", {"shape": (width,), "eps": 0.1})
        return Case(target=target, arguments={"input": TensorSpec((8, width))}, point=point)

    swept = swept_labels([layer(n, n=n) for n in (64, 128)])
    assert swept == ["Norm(shape=(n,), eps=0.1)"] * 2
    assert swept_labels([layer(64)]) == ["Norm(shape=[64], eps=0.1)"]
