"""The tool that makes the table of recorded inputs: notation, choice, coherent extents, table."""

import json
import math
import random
import zlib
from pathlib import Path

import pytest

from tools.recorded_inputs.reading import Dtype, Layout, Tensor, read

DATA = Path(__file__).resolve().parents[1] / "data" / "operator_inputs"
"""Recordings of 24 training runs."""


class TestReading:
    def test_calls_of_a_recording(self):
        text = (
            "Operator: aten.add.Tensor\n"
            "cnt: 73, ((T([64, 128], f16), T([1, 128], f32, stride=(0, 1))), {'alpha': -2})\n"
            "cnt: 1, ((T([], i64), 1.5), {})\n"
            "Operator: aten.cat.default\n"
            "cnt: 2, (([T([2], b8), T([3], b8)],), {})\n"
        )
        first, second, third = read(text, "BERT")
        assert first == (
            "aten.add.Tensor",
            "BERT",
            73,
            (Tensor((64, 128), "float16"), Tensor((1, 128), "float32", (0, 1))),
            {"alpha": -2},
        )
        assert second.args == (Tensor((), "int64"), 1.5)
        assert (third.operator, third.args) == (
            "aten.cat.default",
            ((Tensor((2,), "bool"), Tensor((3,), "bool")),),
        )

    def test_dtypes_layouts_and_infinity(self):
        text = (
            "Operator: aten._to_copy.default\n"
            "cnt: 1, ((-inf, None), {'dtype': torch.bool, 'layout': torch.strided, 'other': c32})"
        )
        (call,) = read(text, "BERT")
        assert call.args == (-math.inf, None)
        assert call.kwargs == {
            "dtype": Dtype("bool"),
            "layout": Layout("strided"),
            "other": Dtype("complex32"),
        }

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("nothing", "line 2 of BERT"),
            ("cnt: 1, ((open('x'),), {})", "unknown notation: open"),
            ("cnt: 1, ((T([2], f17),), {})", "unknown notation: f17"),
        ],
    )
    def test_an_unknown_notation_is_an_error(self, line, message):
        with pytest.raises(ValueError, match=message):
            list(read(f"Operator: aten.relu.default\n{line}", "BERT"))

    def test_elements_in_memory(self):
        assert Tensor((4, 3), "float16").stored == 12
        assert Tensor((4, 3), "float16", (0, 1)).stored == 3


def call(operator, *args, model="BERT", count=1, **kwargs):
    from tools.recorded_inputs.reading import Call

    return Call(operator, model, count, args, kwargs)


def tensor(*shape, dtype="float16", strides=()):
    return Tensor(shape, dtype, strides)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.usefixtures("torch")
class TestCalling:
    def test_arguments_have_the_names_of_the_schema(self):
        from tools.recorded_inputs.calling import bind

        made = bind(call("aten.nll_loss_forward.default", tensor(2, 3), tensor(2), None, 1, -100))
        assert list(made) == ["self", "target", "weight", "reduction", "ignore_index"]
        assert made["weight"] is None

    def test_the_place_of_a_result_is_none_of_them(self):
        from tools.recorded_inputs.calling import bind

        where = {"device": "cuda", "pin_memory": False, "layout": Layout("strided")}
        made = bind(call("aten.new_zeros.default", tensor(2), (3,), **where))
        assert made == {"self": tensor(2), "size": (3,)}

    def test_former_overloads_are_those_of_today(self):
        from tools.recorded_inputs.calling import bind, modernize, run

        former = call(
            "aten.upsample_bilinear2d_backward.vec",
            *(tensor(1, 2, 8, 8), None, (1, 2, 4, 4), True, (2.0, 2.0)),
        )
        made = modernize(former)
        assert made.operator == "aten.upsample_bilinear2d_backward.default"
        (output,) = run(made.operator, bind(made))
        assert output.shape == (1, 2, 4, 4)

    @pytest.mark.parametrize(
        ("operator", "args", "expected"),
        [
            ("aten.mm.default", (tensor(2, 3), tensor(3, 4)), 24),
            ("aten.addmm.default", (tensor(4), tensor(2, 3), tensor(3, 4)), 24),
            ("aten.bmm.default", (tensor(5, 2, 3), tensor(5, 3, 4)), 120),
            (
                "aten.convolution.default",
                (
                    *(tensor(1, 2, 5, 5), tensor(4, 2, 3, 3), None, (1, 1), (1, 1), (1, 1)),
                    *(False, (0, 0), 1),
                ),
                4 * 25 * 2 * 9,
            ),
            ("aten.relu.default", (tensor(4),), 0),
        ],
    )
    def test_multiply_adds(self, operator, args, expected):
        from tools.recorded_inputs.calling import bind, multiply_adds, run

        made = bind(call(operator, *args))
        assert multiply_adds(operator, made, run(operator, made)) == expected

    def test_shapes_that_only_a_kernel_would_refuse(self):
        from tools.recorded_inputs.calling import bind, run

        def accepted(gradient):
            inputs = call(
                "aten.avg_pool2d_backward.default",
                *(tensor(*gradient), tensor(2, 3, 8, 8), (2, 2), (2, 2), (0, 0)),
                *(False, True, None),
            )
            return run(inputs.operator, bind(inputs)) is not None

        assert accepted((2, 3, 4, 4))
        assert not accepted((1, 3, 4, 4))


@pytest.mark.usefixtures("torch")
class TestChoosing:
    def choose(self, *calls, elements=2**20):
        from tools.recorded_inputs.choosing import choose, gather
        from tools.recorded_inputs.scaling import Limits

        ((_, inputs),) = gather(calls).items()
        chosen = choose(inputs, Limits(elements, 2**20))
        return [(one.arguments["self"].shape, one.count) for one in chosen]

    def test_the_most_frequent_then_the_most_expensive(self):
        sizes = [2**power for power in range(10)]
        calls = [
            call("aten.relu.default", tensor(size), count=place and 100 - place)
            for place, size in enumerate(sizes)
        ]
        chosen = [shape for shape, _ in self.choose(*calls)]
        assert chosen == [(2,), (4,), (8,), (512,), (256,), (128,)]

    def test_calls_of_all_models_and_floating_dtypes_count_together(self):
        made = self.choose(
            call("aten.relu.default", tensor(8), count=2),
            call("aten.relu.default", tensor(8, dtype="float32"), count=3, model="ViT"),
            call("aten.relu.default", tensor(8, dtype="int64"), count=4),
        )
        assert made == [((8,), 5), ((8,), 4)]

    def test_inputs_that_are_much_alike_count_once(self):
        made = self.choose(
            *(call("aten.relu.default", tensor(extent)) for extent in (100, 101, 109, 111))
        )
        assert made == [((111,), 1), ((100,), 1)]

    def test_inputs_that_are_alike_within_the_limits_count_once(self):
        calls = [call("aten.relu.default", tensor(extent, 3)) for extent in (64, 8, 32)]
        assert len(self.choose(*calls)) == 3
        assert self.choose(*calls, elements=2 * 8 * 3) == [((64, 3), 1)]

    def test_inputs_without_elements_are_no_inputs(self):
        from tools.recorded_inputs.choosing import gather

        assert gather([call("aten.relu.default", tensor(0))]) == {}


@pytest.mark.usefixtures("torch")
class TestScaling:
    def groups(self, operator, *args):
        """Groups as sets of `argument[axis]`."""
        from tools.recorded_inputs.calling import bind, run
        from tools.recorded_inputs.scaling import groups

        found = groups(bind(call(operator, *args)), lambda tried: run(operator, tried) is not None)
        return [{f"{one.argument}[{one.axis}]" for one in group} for group in found]

    def test_axes_that_operators_tie(self):
        found = self.groups("aten.mm.default", tensor(64, 64), tensor(64, 64))
        assert found == [{"self[0]"}, {"self[1]", "mat2[0]"}, {"mat2[1]"}]

    def test_an_axis_that_broadcasts_stays(self):
        found = self.groups("aten.add.Tensor", tensor(4, 6, 8), tensor(4, 1, 8))
        assert found == [{"self[0]", "other[0]"}, {"self[1]"}, {"self[2]", "other[2]"}]

    def test_a_multiple_follows(self):
        found = self.groups("aten._unsafe_view.default", tensor(64, 12, 10), (768, 10))
        assert found == [{"self[0]", "size[0]"}, {"self[2]", "size[1]"}]

    def test_channels_groups_and_biases_of_a_depthwise_convolution(self):
        found = self.groups(
            "aten.convolution.default",
            *(tensor(4, 32, 9, 9), tensor(32, 1, 3, 3), tensor(32), (1, 1), (1, 1), (1, 1)),
            *(False, (0, 0), 32),
        )
        channels = {"input[1]", "weight[0]", "bias[0]", "groups[None]"}
        assert [{"input[0]"}, channels] == found[:2]

    def test_the_batch_is_reduced_first_and_while_that_helps(self):
        from tools.recorded_inputs.calling import bind, run
        from tools.recorded_inputs.scaling import Limits, groups, reduce

        operator = "aten.addmm.default"
        made = bind(call(operator, tensor(16), tensor(64, 32), tensor(32, 16)))
        free = groups(made, lambda tried: run(operator, tried) is not None)

        def reduced(elements, multiply_adds=2**20):
            smaller = reduce(operator, made, free, Limits(elements, multiply_adds))
            return [smaller[name].shape for name in ("self", "mat1", "mat2")]

        everything = 16 + 64 * 32 + 32 * 16 + 64 * 16
        assert reduced(everything) == [(16,), (64, 32), (32, 16)]
        assert reduced(everything - 1) == [(16,), (32, 32), (32, 16)]
        assert reduced(everything, 64 * 32 * 16 - 1) == [(16,), (32, 32), (32, 16)]
        assert reduced(100) == [(4,), (4, 8), (8, 4)]

    def test_the_batch_is_the_outermost_axis_in_memory(self):
        from tools.recorded_inputs.calling import bind
        from tools.recorded_inputs.scaling import batch_place

        made = bind(call("aten.mm.default", tensor(8, 64, strides=(1, 8)), tensor(64, 4)))
        assert batch_place("aten.mm.default", made)[::2] == ("self", 1)

    @pytest.mark.parametrize(
        ("strides", "shape", "expected"),
        [
            ((1, 4), (2, 3), (1, 2)),
            ((0, 1), (2, 3), (0, 1)),
            ((60, 1), (2, 3), (60, 1)),
            ((6, 2), (2, 3), (6, 2)),
            ((6, 2), (4, 2), (4, 2)),
        ],
    )
    def test_strides_keep_their_order_and_gaps(self, strides, shape, expected):
        from tools.recorded_inputs.scaling import strides_of

        assert strides_of(tensor(4, 3, strides=strides), shape) == expected


PARTS = 6
"""Of the table's operators, which take two minutes together. A run makes one part, drawn as its
order is."""


@pytest.mark.sweep
@pytest.mark.usefixtures("torch")
def test_a_part_of_the_table_is_made_again_byte_for_byte():
    from tools.recorded_inputs.table import TABLE, make_rows

    part = random.randrange(PARTS)

    def is_drawn(name):
        return zlib.crc32(name.encode()) % PARTS == part

    table = TABLE.read_text(encoding="utf-8")
    made = make_rows(DATA, is_drawn)
    assert list(made) == list(filter(is_drawn, json.loads(table)))
    assert len(made) > 10
    assert [name for name, rows in made.items() if f"\n{rows}" not in table] == []
