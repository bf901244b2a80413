"""Recorded inputs: their dtypes, contents, gradients and lines of why, at each size."""

import math
from collections import Counter

import pytest

from opperf.dtypes import is_integer
from opperf.frameworks import fill
from opperf.model import DType, Fill, Kind, Number, Operator, Parameter, TensorSpec, iter_tensors
from opperf.rules.configurations import WHY, inputs_of
from opperf.rules.sizes import PRESETS
from opperf.rules.torch.recorded import LABELS, LEAST, configurations, decode, family, key_of, table
from opperf.rules.torch.recorded_fills import with_fills
from opperf.rules.torch.recorded_whys import describe, models, shape
from opperf.rules.values import (
    AT_LEAST_SINGLE,
    BELOW,
    BOOLEAN,
    NORMAL,
    POSITIVE,
    PROBABILITY,
    REQUESTED,
    SIMPLEX,
    MapAxis,
    below,
    windows,
    with_dtype,
)

LONGEST = 120
"""Characters of a line of why, at most."""

DEFAULT = PRESETS["default"]
SIZES = ("small", "default", "large")


def recorded(*extents, dtype="float16", **more):
    return {"shape": list(extents), "dtype": dtype, **more}


def operator(name, *parameters, overload=""):
    made = tuple(Parameter(one, Kind.TENSOR, required=True) for one in parameters)
    return Operator("torch", "aten", name, parameters=made, overload=overload)


class TestTable:
    def test_each_operator_has_one_to_six_inputs_of_models(self):
        assert len(table()) > 100
        for entries in table().values():
            assert 1 <= len(entries) <= 6
            for one in entries:
                assert one["count"] >= len(one["models"]) >= 1

    @pytest.mark.parametrize("size", SIZES)
    def test_each_configuration_has_a_short_line_of_its_own(self, size):
        for label in table():
            made = configurations(label, PRESETS[size])
            lines = [one[WHY] for one in made]
            assert len(set(lines)) == len(lines) >= 1, label
            assert all(len(line) <= LONGEST for line in lines), label
            inputs = list(map(inputs_of, made))
            assert all(one not in inputs[:place] for place, one in enumerate(inputs)), label

    @pytest.mark.parametrize("size", SIZES)
    def test_whole_numbers_are_in_a_range_that_means_something(self, size):
        counts = Counter()
        for label in table():
            for made in configurations(label, PRESETS[size]):
                # The mark of a label that is ignored may be below zero.
                least = min(0, made["other"]) if isinstance(made.get("other"), int) else 0
                for spec in (one for value in made.values() for one in iter_tensors(value)):
                    if is_integer(spec.dtype) and spec.dtype != "bool":
                        fill = spec.fill
                        counts[fill.distribution] += 1
                        if fill.distribution in BELOW:
                            assert least <= fill.low < fill.high - 1 or spec.size == 1, label
                        elif fill.distribution == "literal":
                            assert min(fill.data) >= least, label
                        elif fill.distribution == "sequence":
                            assert fill.low == 1 < fill.high, label
                        else:
                            assert fill == BOOLEAN, label
        in_order = {"sequence"} if size != "small" else set()
        assert set(counts) == {"integers", "windows", "literal", "boolean"} | in_order
        assert counts.total() > 40

    def test_products_keep_their_proportions(self):
        names = {"aten::mm": ("self", "mat2"), "aten::bmm": ("self", "mat2")}
        names["aten::addmm"] = ("mat1", "mat2")
        checked = 0
        for label, (left, right) in names.items():
            for entry in table()[label]:
                for size in ("default", "small"):
                    whole, changed = entry["arguments"], entry.get(size, {})
                    if changed is None:
                        continue
                    scaled = {**whole, **changed}
                    factors = [
                        before / after
                        for name, axis in ((left, -2), (left, -1), (right, -1))
                        for before in [whole[name]["shape"][axis]]
                        for after in [scaled[name]["shape"][axis]]
                    ]
                    assert max(factors) <= 32 * min(factors), (label, whole, scaled)
                    checked += 1
        assert checked > 30

    def test_an_input_that_would_be_other_work_is_none_of_the_size(self):
        made = configurations("aten::gather", PRESETS["small"])
        assert len(made) == len(configurations("aten::gather", PRESETS["large"])) - 1
        # One of four numbers would be read of one.
        assert all(one["self"].shape[one["dim"]] > 1 for one in made)

    def test_few_elements_are_no_configuration(self):
        assert configurations("aten::clamp_min", DEFAULT)
        assert not configurations("aten::clamp_min", DEFAULT, least=LEAST)
        assert list(family(operator("clamp_min", "self", "min", overload="default"), DEFAULT)) == []
        # The tensor that is made counts too.
        assert all(
            max(one["self"].size, math.prod(one["size"])) >= 10**6
            for one in configurations("aten::new_zeros", PRESETS["large"], least=10**6)
        )

    def test_sizes_grow(self):
        def elements(size):
            return sum(
                spec.size
                for label in table().keys() - {"aten::_cudnn_rnn_backward"}  # one size only
                for made in configurations(label, PRESETS[size])
                for value in made.values()
                for spec in iter_tensors(value)
            )

        assert elements("small") * 100 < elements("default") < elements("large") / 2

    def test_a_product_of_matrices_in_bert(self):
        made = configurations("aten::addmm", PRESETS["large"])
        (bert,) = [one for one in made if one[WHY].startswith("BERT, 49 calls: ")]
        assert {name: (one.shape, one.strides) for name, one in inputs_of(bert).items()} == {
            "self": ((768,), ()),
            "mat1": ((8192, 768), ()),
            "mat2": ((768, 768), (1, 768)),
        }
        assert bert[WHY].endswith("(768), (8192, 768), (768, 768) transposed")


class TestFamily:
    @pytest.mark.parametrize("overload, key", [("default", "aten::relu"), ("out", "")])
    def test_is_of_an_overload(self, overload, key):
        assert LABELS.get(f"relu.{overload}", "") == key

    def test_has_the_inputs_of_its_overload(self):
        found = list(family(operator("max", "self", "dim", "keepdim", overload="dim"), DEFAULT))
        assert found == configurations("aten::max.dim", DEFAULT, LEAST) != []

    def test_contiguous_elementwise_work_is_the_rules(self):
        assert configurations("aten::relu", DEFAULT, LEAST)
        assert list(family(operator("relu", "self", overload="default"), DEFAULT)) == []

    def test_has_nothing_for_arguments_that_the_operator_has_not(self):
        assert list(family(operator("max", "input", "dim", overload="dim"), DEFAULT)) == []

    def test_no_other_overload_has_them(self):
        assert "add.Tensor" in LABELS
        assert "add.Scalar" not in LABELS

    def test_an_overload_has_one_name(self):
        assert key_of("torch.ops.aten.add.Tensor") == key_of("aten::add.Tensor")
        assert key_of("aten.relu.default") == "aten::relu"


class TestDtypes:
    def test_the_runs_own_in_place_of_the_recorded_one(self):
        made = decode({"self": recorded(2), "index": recorded(2, dtype="int64")})
        assert [made["self"].dtype, made["index"].dtype] == [REQUESTED, "int64"]

    def test_single_precision_alone_is_the_runs_own(self):
        assert decode({"self": recorded(2, dtype="float32")})["self"].dtype == REQUESTED

    def test_single_beside_half_precision_stays_single(self):
        made = decode({"input": recorded(2), "mean": recorded(2, dtype="float32")})
        assert [made["input"].dtype, made["mean"].dtype] == [REQUESTED, AT_LEAST_SINGLE]

    def test_an_argument_that_is_the_tensors_dtype_follows_it(self):
        made = decode({"output": recorded(2), "input_dtype": {"dtype": "float16"}})
        assert made["input_dtype"] == DType(REQUESTED)
        assert with_dtype(operator("op"), made, "bfloat16")["input_dtype"] == DType("bfloat16")

    def test_a_cast_stays_a_cast(self):
        to_half = decode({"self": recorded(2, dtype="float32"), "dtype": {"dtype": "float16"}})
        assert (to_half["self"].dtype, to_half["dtype"]) == (REQUESTED, DType("float16"))
        to_single = decode({"self": recorded(2), "dtype": {"dtype": "float32"}})
        assert (to_single["self"].dtype, to_single["dtype"]) == ("float16", DType("float32"))

    def test_complex_numbers_are_in_single_precision(self):
        assert decode({"self": recorded(2, dtype="complex32")})["self"].dtype == "complex64"

    def test_plain_values_and_lists(self):
        made = decode({"size": [2, 3], "value": {"number": "-inf"}, "tensors": [recorded(1), None]})
        assert made["size"] == (2, 3)
        assert made["value"] == Number("-inf")
        assert made["tensors"] == (TensorSpec((1,), REQUESTED), None)

    def test_strides(self):
        made = decode({"self": recorded(4, 3, strides=[0, 1])})["self"]
        assert (made.shape, made.strides) == ((4, 3), (0, 1))


class TestFills:
    def test_indices_are_in_range_of_their_axis(self):
        index = TensorSpec((5,), "int64")
        made = with_fills("gather", {"self": TensorSpec((7, 9)), "dim": 1, "index": index})
        assert made["index"].fill == below(9)
        for name in ("index", "_index_put_impl"):
            made = with_fills(name, {"self": TensorSpec((7, 9)), "indices": (None, index)})
            assert made["indices"] == (None, TensorSpec((5,), "int64", below(9)))
        made = with_fills("embedding", {"weight": TensorSpec((30, 4)), "indices": index})
        assert made["indices"].fill == below(30)
        for name in ("embedding_backward", "embedding_dense_backward"):
            made = with_fills(name, {"indices": index, "num_weights": 12, "padding_idx": -1})
            assert made["indices"].fill == below(12)

    def test_indices_of_pooling_are_in_the_map(self):
        pairs = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0)}
        arguments = {
            "self": TensorSpec((2, 3, 4, 5)),
            "indices": TensorSpec((2, 3, 2, 2), "int64"),
            **pairs,
        }
        made = with_fills("max_pool2d_with_indices_backward", arguments)
        assert made["indices"].fill == windows([MapAxis(4, 2, 2), MapAxis(5, 2, 2)])

    def test_bags_begin_in_ascending_order_within_the_indices(self):
        arguments = {
            "weight": TensorSpec((9, 2)),
            "indices": TensorSpec((10,), "int64"),
            "offsets": TensorSpec((4,), "int64"),
        }
        made = with_fills("_embedding_bag", arguments)
        assert made["offsets"].fill == Fill("literal", data=[0, 2, 5, 7])

    def test_masks_are_boolean_and_other_tensors_normal(self):
        made = with_fills(
            "where", {"condition": TensorSpec((2,), "bool"), "self": TensorSpec((2,))}
        )
        assert (made["condition"].fill, made["self"].fill) == (BOOLEAN, NORMAL)

    @pytest.mark.parametrize(
        ("strides", "dim", "contents"),
        [((), -1, SIMPLEX), ((), 1, SIMPLEX), ((), 0, PROBABILITY), ((1, 3), 1, PROBABILITY)],
    )
    def test_outputs_of_a_softmax(self, strides, dim, contents):
        output = TensorSpec((3, 3), strides=strides)
        made = with_fills("_softmax_backward_data", {"output": output, "dim": dim})
        assert made["output"].fill == contents

    @pytest.mark.parametrize(("exponent", "domain"), [(2.0, NORMAL), (0.5, POSITIVE)])
    def test_bases_of_powers(self, exponent, domain):
        made = with_fills("pow", {"self": TensorSpec((3,)), "exponent": exponent})
        assert made["self"].fill == domain


class TestGradients:
    def gradients(self, label):
        first = configurations(label, DEFAULT)[0]
        return {
            name: value.gradient for name, value in first.items() if isinstance(value, TensorSpec)
        }

    def test_data_and_weights_take_one_and_running_statistics_none(self):
        assert self.gradients("aten::native_batch_norm") == {
            "input": True,
            "weight": True,
            "bias": True,
            "running_mean": False,
            "running_var": False,
        }

    def test_indices_take_none(self):
        assert self.gradients("aten::embedding") == {"weight": True, "indices": False}

    @pytest.mark.parametrize("label", ["aten::gelu_backward", "aten::relu_", "aten::add_.Tensor"])
    def test_backward_and_in_place_operators_take_none(self, label):
        assert not any(self.gradients(label).values())


def entry(*tensors, count=1, names=("BERT",), **options):
    arguments = {f"t{place}": one for place, one in enumerate(tensors)}
    return {"count": count, "models": list(names), "arguments": arguments | options}


class TestWhys:
    def test_models_calls_and_shapes(self):
        (line,) = describe([entry(recorded(2, 3), recorded(3, 4), count=24)], "default")
        assert line == "BERT, 24 calls: (2, 3), (3, 4)"

    def test_equal_shapes_in_a_row_are_there_once(self):
        one = entry(recorded(2), recorded(2), recorded(), [recorded(1), recorded(1)])
        assert describe([one], "default") == ["BERT, 1 call: 2 of (2), a number, 2 of (1)"]

    def test_many_shapes_are_counted(self):
        one = entry(*(recorded(extent) for extent in range(1, 6)))
        assert describe([one], "default") == ["BERT, 1 call: (1), (2), (3) and 2 more"]

    def test_options_in_which_alike_inputs_differ(self):
        made = [entry(recorded(2), dim=dim, keepdim=True) for dim in (0, 1)] + [entry(recorded(3))]
        assert [line.partition(": ")[2] for line in describe(made, "default")] == [
            "(2), dim 0",
            "(2), dim 1",
            "(3)",
        ]

    def test_dtypes_in_which_alike_inputs_differ(self):
        made = [entry(recorded(2, dtype=dtype)) for dtype in ("int64", "uint8")]
        assert describe(made, "large")[1] == "BERT, 1 call: (2), t0 uint8"

    def test_a_smaller_input_says_so(self):
        one = {**entry(recorded(4)), "small": {"t0": recorded(1)}}
        assert describe([one], "small") == ["BERT, 1 call: scaled down from (4)"]
        assert describe([one], "default") == ["BERT, 1 call: (4)"]

    @pytest.mark.parametrize(
        ("names", "text"),
        [("A", "A"), ("AB", "A and B"), ("ABC", "A, B and C"), ("ABCD", "A, B and 2 more")],
    )
    def test_of_many_models_the_first(self, names, text):
        assert models(list(names)) == text

    @pytest.mark.parametrize(
        ("strides", "text"),
        [
            ([], "(2, 3, 4, 5)"),
            ([100, 20, 5, 1], "(2, 3, 4, 5) strided"),
            ([60, 1, 15, 3], "(2, 3, 4, 5) channels last"),
            ([60, 20, 1, 4], "(2, 3, 4, 5) transposed"),
            ([0, 20, 5, 1], "(2, 3, 4, 5) expanded"),
        ],
    )
    def test_layouts(self, strides, text):
        assert shape(recorded(2, 3, 4, 5, strides=strides)) == text


UNINITIALISED = ("aten::new_empty_strided",)
"""Operators whose results are whatever the memory held."""


def to_torch(torch, value, place):
    """A recorded argument as PyTorch takes it, its tensors filled as a framework fills them."""
    if isinstance(value, TensorSpec):
        storage = TensorSpec((value.reach,), value.dtype, value.fill) if value.strides else value
        array = fill.code(storage, fill.seed_at(0, place)).run()
        made = torch.tensor(array, dtype=getattr(torch, value.dtype))
        return made.as_strided(value.shape, value.steps)
    if isinstance(value, tuple):
        return [to_torch(torch, one, f"{place}.{index}") for index, one in enumerate(value)]
    if isinstance(value, DType):
        return getattr(torch, value.name)
    if isinstance(value, Number):
        return value.value
    return getattr(torch, value) if value == "sparse_coo" else value


def called(torch):
    """Labels of the overloads that this PyTorch has and that have a kernel for the CPU."""
    for label in table():
        name = label.removeprefix("aten::")
        packet, _, overload = name.partition(".")
        kernels = ("CPU", "SparseCPU")
        has = torch._C._dispatch_has_computed_kernel_for_dispatch_key
        if any(has(label, one) for one in kernels):
            yield label, getattr(getattr(torch.ops.aten, packet), overload or "default")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pytorch_takes_every_small_input_and_computes_no_nan():
    torch = pytest.importorskip("torch")
    operators = dict(called(torch))
    # cuDNN has two kernels of its own, and every other operator one for the CPU.
    assert len(operators) >= len(table()) - 2
    for label, run in operators.items():
        for made in configurations(label, PRESETS["small"]):
            why = made[WHY]
            arguments = with_dtype(operator("op"), inputs_of(made), "float32")
            values = {name: to_torch(torch, one, name) for name, one in arguments.items()}
            outputs = run(**values)
            for one in outputs if isinstance(outputs, (tuple, list)) else [outputs]:
                if one is None:  # a gradient that the mask of outputs excludes
                    continue
                dense = one.coalesce().values() if one.is_sparse else one
                assert label in UNINITIALISED or not dense.isnan().any(), f"{label}: {why}"
