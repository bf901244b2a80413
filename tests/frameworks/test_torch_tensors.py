"""PyTorch's tensors from specs: dtypes, layouts, contents; gradients; restored arguments."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from opperf.errors import NoGradientError, UnsupportedError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import restoring, tensors, user_tensors  # noqa: E402
from opperf.frameworks.torch.gradient import RecordedGradient  # noqa: E402
from opperf.frameworks.torch.inference import with_outputs  # noqa: E402
from opperf.frameworks.torch.packed import PACKED  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Case, Fill, MemoryFormat, OperatorTarget, Settings, TensorSpec  # noqa: E402
from opperf.sources.registry import plan  # noqa: E402
from opperf.sources.selecting import Selection  # noqa: E402
from opperf.worker.answers import script  # noqa: E402
from tests.script_tensors import assert_script_makes  # noqa: E402

FRAMEWORK = load("torch")
SHAPE = (8, 16)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def made(seed=3, **spec):
    return tensors.tensor(TensorSpec(SHAPE, **spec), "cpu(0)", seed)


@pytest.mark.parametrize("dtype", FRAMEWORK.dtypes)
def test_every_dtype(dtype):
    fill = Fill("integers", 0.0, 2.0) if dtype.startswith(("int", "uint", "bool")) else Fill()
    tensor = made(dtype=dtype, fill=fill)
    assert str(tensor.dtype) == f"torch.{dtype}"
    assert tuple(tensor.shape) == SHAPE


OTHERWISE = {"dense", "nested", "jagged", "centred", "table", "uncoalesced", *PACKED}
"""Layouts of another shape, or of which PyTorch says nothing else than of another one."""


@pytest.mark.parametrize("layout", sorted({*tensors.LAYOUTS} - OTHERWISE))
def test_a_layout_has_the_shape_and_is_described_as_itself(layout):
    tensor = made(layout=layout, density=0.5)
    assert tuple(tensor.shape) == SHAPE
    described = user_tensors.describe(tensor)
    assert (described.layout, described.shape) == (layout, SHAPE)
    again = user_tensors.describe(made(layout=layout, density=0.5))
    assert described.fill.digest == again.fill.digest
    other = user_tensors.describe(made(seed=4, layout=layout, density=0.5))
    assert described.fill.digest != other.fill.digest


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_a_sparse_tensor_stores_its_share(layout):
    tensor = made(layout=layout, density=0.5)
    values = tensor.coalesce().values() if layout == "coo" else tensor.values()
    assert values.numel() == SHAPE[0] * SHAPE[1] // 2


def test_elements_as_they_are_read_are_in_no_order_and_some_at_the_same_coordinates():
    tensor = made(layout="uncoalesced", density=0.5)
    places = [tuple(place) for place in tensor._indices().T.tolist()]
    assert len(places) == SHAPE[0] * SHAPE[1] // 2 > len(set(places))
    assert places != sorted(places)
    assert not tensor.is_coalesced()


def test_nested_tensors_of_one_shape_can_be_added():
    shape = (3, 2, 8, 4)
    one, other = (tensors.tensor(TensorSpec(shape, layout="nested"), "cpu(0)", n) for n in (1, 2))
    assert [tuple(row.shape) for row in (one + other).unbind()][0] == shape[1:]
    assert not torch.equal(one.unbind()[0], other.unbind()[0])


@pytest.mark.parametrize("layout", ["nested", "jagged"])
def test_sequences_of_a_nested_tensor_have_different_lengths(layout):
    rows = [len(one) for one in made(layout=layout).unbind()]
    assert len(rows) == SHAPE[0]
    assert max(rows) == rows[0] == SHAPE[1]
    assert len(set(rows)) > 1


def test_a_complex_tensor_has_an_imaginary_part_of_its_own():
    tensor = made(dtype="complex64")
    assert not torch.equal(tensor.real, tensor.imag)


def test_a_share_of_complex_numbers_is_real():
    spec = TensorSpec((1000,), "complex64", Fill(real=0.25))
    tensor = tensors.tensor(spec, "cpu(0)", 3)
    assert tensor.dtype == torch.complex64
    assert 0.15 < torch.isreal(tensor).float().mean() < 0.35
    assert (tensor.real != 0).all()


def test_contents_are_those_of_numpy():
    spec = TensorSpec(SHAPE)
    from opperf.frameworks.numpy import tensors as of_numpy

    assert np.array_equal(made().numpy(), of_numpy.tensor(spec, "cpu(0)", 3))


def test_channels_last():
    spec = TensorSpec((2, 3, 4, 5), memory_format="channels_last")
    tensor = tensors.tensor(spec, "cpu(0)", 0)
    assert tensor.is_contiguous(memory_format=torch.channels_last)


def test_an_unknown_layout_or_dtype_is_unsupported():
    with pytest.raises(UnsupportedError, match="PyTorch has no row_sparse tensors"):
        made(layout="row_sparse")
    with pytest.raises(UnsupportedError, match="has no dtype float7"):
        made(dtype="float7")
    with pytest.raises(UnsupportedError, match="blocks of 4 x 4 do not fill a matrix of 8 x 15"):
        tensors.tensor(TensorSpec((8, 15), layout="bsr"), "cpu(0)", 0)


def test_nan_is_seen_in_every_layout():
    for layout in ("dense", "coo", "csr"):
        spec = TensorSpec(SHAPE, fill=Fill("constant", float("nan")), layout=layout)
        assert tensors.has_nan([tensors.tensor(spec, "cpu(0)", 0)]), layout
    assert not tensors.has_nan([made(), (made(layout="csr"), {"key": made(dtype="int32")})])


def test_extents_of_a_view_are_in_its_base():
    base = made()
    one, other, whole = map(tensors.extent, (base[:4], base[4:], base))
    assert one.shares_memory_with(whole) and other.shares_memory_with(whole)
    assert not one.shares_memory_with(other)
    assert (one.bytes, whole.bytes) == (4 * 4 * 16, 4 * 8 * 16)
    # A stride of zero repeats elements, which count once.
    assert tensors.extent(base[:1].expand(8, 16)).bytes == 4 * 16


SMALL = plan(
    FRAMEWORK,
    Selection(("exp", "sqrt", "tanh"), size="small", settings=Settings(profiler="python")),
).cases


def contents(tensor):
    """What a tensor has, in any layout."""
    return tensor.shape, tensor.layout, [part.tolist() for part in tensors.stored_parts(tensor)]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.id)
def test_a_script_makes_the_tensors_and_gradients_that_are_measured(case):
    prepared = PreparedCase(case, FRAMEWORK)
    text = script(FRAMEWORK, case)
    assert_script_makes(text, case, prepared.arguments, contents)
    found = {}
    exec(text, found)
    try:
        FRAMEWORK.gradients.gradient(case, prepared.call, prepared.differentiated)
    except NoGradientError:
        assert "gradients" not in found
        return
    gradient = FRAMEWORK.gradients.gradient(case, prepared.call, prepared.differentiated)
    gradient.record()
    for one, other in zip(gradient.read(gradient.backward()), found["gradients"], strict=True):
        assert contents(one) == contents(other)


QUANTISED = plan(
    FRAMEWORK, Selection(namespaces=("quantized", "onednn"), variants=("in-place",), size="small")
)


def test_quantised_operators_have_inputs_with_every_layout_of_packed_weights():
    layouts = {spec.layout for case in QUANTISED.cases for _, spec in case.tensors()}
    assert {*PACKED} <= layouts
    assert {*QUANTISED.excluded} == {
        "quantized::linear_prepack_fp16_legacy",
        "quantized::linear_prepack_legacy",
        "quantized::linear_unpack.legacy",
        "quantized::linear_unpack_fp16.legacy",
    }


@pytest.mark.skipif(
    torch.backends.quantized.engine not in ("x86", "fbgemm"), reason="its engine packs otherwise"
)
@pytest.mark.parametrize("layout", sorted({"centred", "table", *PACKED}))
def test_a_script_packs_the_weights_that_are_measured(layout):
    case = next(
        one for one in QUANTISED.cases if any(spec.layout == layout for _, spec in one.tensors())
    )
    measured = PreparedCase(case, FRAMEWORK).call()
    found = {}
    exec(script(FRAMEWORK, case), found)
    assert list(map(contents, tensors.tensors(measured))) == [
        contents(one) for one in tensors.tensors(found["out"])
    ]


def test_packed_weights_are_of_the_cpu():
    with pytest.raises(UnsupportedError, match="packed weights are of the CPU's kernels alone"):
        tensors.tensor(TensorSpec(SHAPE, "qint8", layout="packed_linear"), "gpu(0)", 0)


def call_of(function, *arguments):
    from functools import partial

    return partial(function, *arguments)


def test_a_gradient_is_that_of_its_inputs_alone_and_leaves_them_as_they_were():
    one, other = torch.ones(3), torch.full((3,), 2.0)
    gradient = RecordedGradient(call_of(torch.mul, one, other), [one])
    assert not one.requires_grad
    gradient.record()
    (found,) = gradient.read(gradient.backward())
    assert torch.all(found >= 1.0) and torch.all(found < 3.0)
    assert one.grad is None


def test_head_gradients_are_in_the_order_of_the_output():
    value = torch.ones(2, 8, 3, 3).contiguous(memory_format=torch.channels_last)
    gradient = RecordedGradient(call_of(torch.channel_shuffle, value, 2), [value])
    gradient.record()
    (found,) = gradient.backward()
    assert not found.is_contiguous()
    assert found.is_contiguous(memory_format=torch.channels_last)


def test_the_gradient_of_a_zero_derivative_is_a_gradient():
    value = torch.ones(3)
    gradient = RecordedGradient(call_of(torch.round, value), [value])
    gradient.record()
    assert torch.equal(gradient.backward()[0], torch.zeros(3))


@pytest.mark.parametrize(
    "function, reason",
    [
        (torch.argmax, "autograd has no gradient of its results"),
        (torch.special.zeta, "derivative for .* is not implemented"),
    ],
)
def test_what_has_no_gradient_says_why(function, reason):
    inputs = [torch.full((3,), 2.0)] * (1 + (function is torch.special.zeta))
    with pytest.raises(NoGradientError, match=reason):
        RecordedGradient(call_of(function, *inputs), inputs)


def test_a_module_has_the_gradients_of_its_parameters():
    module = torch.nn.Linear(4, 2)
    gradient = RecordedGradient(call_of(module, torch.ones(3, 4)), [])
    gradient.record()
    assert [tuple(one.shape) for one in gradient.read(gradient.backward())] == [(2, 4), (2,)]


def case_of(name, overload="default", **arguments):
    return Case(OperatorTarget("torch", name, overload), arguments)


@pytest.mark.parametrize(
    "name, overload, arguments",
    [
        ("add_", "Tensor", {"self": torch.ones(3), "other": torch.ones(3)}),
        ("squeeze_", "default", {"self": torch.ones(3, 1)}),
        ("transpose_", "default", {"self": torch.ones(3, 2), "dim0": 0, "dim1": 1}),
        ("resize_", "default", {"self": torch.ones(3), "size": (5,)}),
        ("set_", "source_Tensor", {"self": torch.ones(3), "source": torch.zeros(2)}),
        ("_foreach_add_", "Scalar", {"self": [torch.ones(3), torch.ones(2)], "scalar": 1.0}),
    ],
)
def test_what_a_call_writes_to_is_restored(name, overload, arguments):
    target = OperatorTarget("torch", name, overload)
    before = [one.clone() for one in tensors.tensors(arguments["self"])]
    restore = restoring.restore(target, arguments)
    call = FRAMEWORK.bind(Case(target, {}), arguments)
    for _ in range(2):
        call()
        after = list(tensors.tensors(arguments["self"]))
        assert any(
            one.shape != other.shape or not torch.equal(one, other)
            for one, other in zip(before, after, strict=True)
        )
        restore()
        for one, other in zip(before, tensors.tensors(arguments["self"]), strict=True):
            assert one.shape == other.shape and one.stride() == other.stride()
            assert contents(one) == contents(other)


def test_what_is_only_written_or_only_read_is_not_restored():
    assert restoring.restore(OperatorTarget("torch", "add", "Tensor"), {}) is None
    assert restoring.restore(OperatorTarget("torch", "add", "out"), {"out": torch.ones(2)}) is None


def test_outputs_are_inferred():
    spec = TensorSpec((4, 6))
    found = with_outputs(FRAMEWORK.resolve("max.dim_max"), {"self": spec, "dim": 1})
    assert (found["max"].shape, found["max"].dtype) == ((4,), "float32")
    assert (found["max_values"].shape, found["max_values"].dtype) == ((4,), "int64")
    unchanged = {"self": spec}
    assert with_outputs(FRAMEWORK.resolve("exp"), unchanged) == unchanged


def test_a_refusal_is_foreseen_without_data():
    fitting = case_of("mm", self=TensorSpec((4, 6)), mat2=TensorSpec((6, 2)))
    assert FRAMEWORK.inference.foreseen_refusal(fitting) == ""
    assert FRAMEWORK.inference.output_shapes(fitting) == [(4, 2)]
    wrong = case_of("mm", self=TensorSpec((4, 6)), mat2=TensorSpec((5, 2)))
    assert "4, 6" in FRAMEWORK.inference.foreseen_refusal(wrong)
    # It depends on the contents.
    assert FRAMEWORK.inference.foreseen_refusal(case_of("nonzero", self=TensorSpec((4,)))) == ""
    assert FRAMEWORK.inference.output_shapes(case_of("nonzero", self=TensorSpec((4,)))) is None


def test_an_order_of_axes_is_none_of_the_refused_arguments():
    made = case_of("ones_like", self=TensorSpec((4,)), memory_format=MemoryFormat("preserve"))
    assert FRAMEWORK.inference.foreseen_refusal(made) == ""
    assert FRAMEWORK.inference.output_shapes(made) == [(4,)]
