"""Arrays of a user keep their layout, dtype and sharing: in specs, in measured tensors, in ids."""

import numpy as np
import pytest

from opperf.errors import UsageError
from opperf.frameworks import is_available, load
from opperf.instruments.prepared import PreparedCase
from opperf.model import Settings
from opperf.sources.call import UserCall
from opperf.sources.given import GivenArrays

PACKED = np.zeros(3, [("a", "i1"), ("b", "<f4")])


def square():
    return np.arange(48.0).reshape(6, 8)


def prepared(framework, inputs, dtype=""):
    """The case of a call with these inputs, and the arguments that are measured."""

    def function(**values):
        return None

    settings = Settings(profiler="python", dtype=dtype or "float32")
    call = UserCall(framework, function, [inputs], settings, dtype=dtype)
    (case,) = call.cases()
    assert call.excluded == {}
    with framework.scope(case):
        return case, PreparedCase(case, framework, call.bound).arguments


@pytest.fixture(scope="module")
def numpy():
    return load("numpy")


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, ::2],
        lambda a: a[::-1, 1:],
        lambda a: a.T,
        lambda a: np.asfortranarray(a),
        lambda a: np.broadcast_to(a[0], (5, 8)),
        lambda a: np.lib.stride_tricks.sliding_window_view(a.ravel(), 5),
        lambda a: a[2:],
        lambda a: a[3, 4],
        lambda a: a[:, :0],
        lambda a: a.view("complex128").imag,
        lambda a: a.astype("float128"),
        lambda a: a.astype("M8[s]"),
    ],
)
def test_numpy_arrays_are_laid_out_as_they_are(numpy, view):
    given = np.asarray(view(square()))
    case, made = prepared(numpy, {"x": given})
    copy = made["x"]
    np.testing.assert_array_equal(copy, given)
    assert (copy.dtype, copy.flags.writeable) == (given.dtype, given.flags.writeable)
    if given.size:
        assert copy.strides == given.strides
    assert not np.shares_memory(copy, given)
    (plain,) = (one.id for one in [prepared(numpy, {"x": given.copy(order="C")})[0]])
    is_plain = (
        given.flags.c_contiguous and given.flags.writeable and case.arguments["x"].offset == 0
    )
    assert (case.id == plain) == is_plain


def test_numpy_arrays_share_what_they_share(numpy):
    one = square()
    case, made = prepared(numpy, {"x": one, "y": one, "z": one[1:, ::3], "other": one.copy()})
    assert made["x"] is made["y"]
    assert np.shares_memory(made["x"], made["z"])
    assert not np.shares_memory(made["x"], made["other"])
    made["z"][...] = 7
    assert made["x"][2, 3] == 7 and one[2, 3] != 7
    apart, _ = prepared(numpy, {"x": one, "y": one.copy(), "z": one[1:, ::3].copy()})
    assert case.arguments["y"] != apart.arguments["y"]


def test_arrays_of_equal_bytes_are_told_apart(numpy):
    given = {"x": np.zeros((2, 3)), "y": np.zeros((3, 2)), "z": np.zeros((2, 3), "int64")}
    _, made = prepared(numpy, given)
    assert [(one.shape, one.dtype.name) for one in made.values()] == [
        *(((2, 3), "float64"), ((3, 2), "float64"), ((2, 3), "int64"))
    ]


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3, ">f4"), "x: an array has the byte order of '>f4'"),
        (PACKED, "x: an array has the structured dtype"),
        (PACKED["b"], "x: an array's elements of 4 bytes are (5,) bytes apart, or at odd"),
        (np.array([None]), "x: an array holds Python objects"),
        (np.ma.zeros(3), "x: an array of the class MaskedArray is not measured as it is"),
    ],
)
@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "mxnet"])
def test_an_array_that_no_case_can_have_is_refused_in_a_line(name, array, words):
    framework = framework_or_skip(name)
    if array.strides == (5,) and not array.dtype.names and name in ("jax", "mxnet"):
        # They have no strides, and copy what they are given.
        assert GivenArrays(framework, {"x": array}, Settings(), "").specs["x"].strides == ()
        return
    with pytest.raises(UsageError) as refused:
        GivenArrays(framework, {"x": array}, Settings(), "")
    assert str(refused.value).startswith(words)


def framework_or_skip(name):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    return load(name)


def test_a_dtype_that_is_requested_converts_the_arrays_of_its_kind(numpy):
    view = square()[:, ::2]
    inputs = {"x": view, "y": view, "i": np.arange(3), "made": (2, 2)}
    case, made = prepared(numpy, inputs, "float16")
    assert (case.settings.dtype, made["x"].dtype, made["i"].dtype) == (
        "float16",
        "float16",
        "int64",
    )
    assert made["x"].strides == (16, 4) and made["x"] is made["y"]
    assert made["made"].dtype == "float16"
    assert case.arguments["x"].fill.dtype == "float64"
    settings = Settings(dtype="float16")
    assert GivenArrays(numpy, inputs, settings, "float16").left == {"i": "int64"}
    whole, _ = prepared(numpy, {"i": np.arange(3)}, "float16")
    assert whole.id == prepared(numpy, {"i": np.arange(3)})[0].id


def test_tensors_of_torch_are_laid_out_as_they_are():
    framework = framework_or_skip("torch")
    import torch

    base = torch.arange(48.0).reshape(6, 8)
    images = torch.rand(2, 3, 5, 7)
    views = {
        "strided": base[:, ::2],
        "expanded": base[0].expand(4, 8),
        "windows": base.view(-1).unfold(0, 5, 1),
        "offset": base[2:],
        "transposed": base.t(),
        "last": images.to(memory_format=torch.channels_last),
        "one_channel": images[:, :1].contiguous().to(memory_format=torch.channels_last),
        "half": base.bfloat16()[:, 1:],
        "double": base.double(),
        "array": np.asfortranarray(base.numpy().astype("float64")),
        "csr": base.to_sparse_csr(),
        "doubled": torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (3, 3)),
        "mkldnn": base.to_mkldnn(),
        "bits": base.bfloat16(),
    }
    for name, given in views.items():
        _, made = prepared(framework, {"x": given})
        copy = made["x"]
        plain = torch.as_tensor(given)
        assert (copy.dtype, copy.layout, copy.shape) == (plain.dtype, plain.layout, plain.shape), (
            name
        )
        if plain.layout is torch.strided:
            assert copy.stride() == plain.stride(), name
            assert copy.storage_offset() == plain.storage_offset(), name
            assert torch.equal(copy, plain), name
        assert (name == "doubled") == (copy.is_sparse and not copy.is_coalesced()), name
    ids = {
        name: prepared(framework, {"x": given})[0].id
        for name, given in {**views, "base": base, "nchw": images}.items()
    }
    assert len(set(ids.values())) == len(ids)
    case, made = prepared(framework, {"x": base, "y": base, "z": base[1:, ::3]})
    assert made["x"] is made["y"]
    assert made["z"].untyped_storage().data_ptr() == made["x"].untyped_storage().data_ptr()
    assert made["z"].storage_offset() == 8 and torch.equal(made["z"], base[1:, ::3])
    assert [spec.gradient for _, spec in case.tensors()] == [True, False, True]


def test_gradients_are_as_requested_of_the_tensors():
    framework = framework_or_skip("torch")
    import torch

    one = torch.ones(3)
    case, _ = prepared(framework, {"x": one, "w": torch.ones(3, requires_grad=True)})
    assert [spec.gradient for _, spec in case.tensors()] == [False, True]
    case, _ = prepared(framework, {"x": one, "w": one + 1})
    assert [spec.gradient for _, spec in case.tensors()] == [True, True]


def test_tensors_of_torch_that_a_copy_would_change_are_refused():
    framework = framework_or_skip("torch")
    import torch

    wrong = {
        "conjugated": torch.ones(3, dtype=torch.complex64).conj(),
        "meta": torch.ones(3, device="meta"),
        "negative": np.ones(3)[::-1],
        "dates": np.zeros(3, "M8[s]"),
    }
    for name, value in wrong.items():
        with pytest.raises(UsageError, match=f"^{name}: ") as refused:
            GivenArrays(framework, {name: value}, Settings(), "")
        assert "\n" not in str(refused.value)
    bits = torch.ones(4)
    with pytest.raises(UsageError, match="x and y are float32 and int32 in one memory"):
        GivenArrays(framework, {"x": bits, "y": bits.view(torch.int32)}, Settings(), "")


def test_arrays_of_jax_keep_their_dtypes():
    framework = framework_or_skip("jax")
    import jax.numpy as jnp

    half = jnp.ones((4, 4), "bfloat16")
    weak = jnp.asarray(2.0)
    case, made = prepared(framework, {"x": half, "y": half, "w": weak, "n": np.ones(3)})
    assert made["x"].dtype == "bfloat16" and made["x"] is made["y"] is not half
    assert made["w"].weak_type and case.arguments["w"].weak_type
    # JAX itself makes float32 of NumPy's float64 without its option for 64 bits.
    assert made["n"].dtype == "float32" and case.arguments["n"].fill.dtype == "float64"
    assert case.settings.dtype == "bfloat16"
    wide, made = prepared(framework, {"n": np.ones(3)}, "float64")
    assert (made["n"].dtype, wide.settings.dtype) == ("float64", "float64")


def test_arrays_of_mxnet_keep_their_dtypes_and_storage():
    framework = framework_or_skip("mxnet")
    import mxnet as mx

    given = {
        "double": np.ones((3, 4)),
        "csr": mx.nd.ones((3, 4)).tostype("csr"),
        "np": mx.np.ones((2, 2), dtype="float64"),
    }
    for name, value in given.items():
        case, made = prepared(framework, {"x": value})
        copy, spec = made["x"], case.arguments["x"]
        assert copy.dtype == value.dtype and case.settings.dtype == spec.dtype, name
        assert getattr(value, "stype", "default") == copy.stype, name
        assert isinstance(copy, mx.np.ndarray) == (name == "np"), name
    one = mx.nd.ones((3, 4))
    case, made = prepared(framework, {"x": one, "y": one, "n": np.ones((3, 4))})
    assert made["x"] is made["y"] and made["n"].dtype == np.float32
    assert case.arguments["n"].fill.dtype == "float64"
    one.attach_grad()
    case, _ = prepared(framework, {"x": one, "w": mx.nd.ones((3, 4))})
    assert [spec.gradient for _, spec in case.tensors()] == [True, False]
