"""Arguments of MXNet's functions that no rule has, for a size that a user asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opperf.rules.mxnet.image import TILE_SIDE, jpeg
from opperf.rules.ranges import Shape


def whole(size: Shape) -> Shape:
    """The size itself, as the shape of a tensor."""
    return size


def flat(size: Shape) -> Shape:
    """Shape of a vector with as many elements."""
    return (math.prod(size),)


def rows(size: Shape) -> int:
    """The first extent."""
    return size[0]


def leading(size: Shape) -> Shape:
    """Shape of a vector as long as the first axis."""
    return size[:1]


def elements(size: Shape) -> int:
    """Number of elements of a tensor of the size."""
    return math.prod(size)


def parts(size: Shape) -> int | Shape:
    """Two equal parts where every extent is even; else the index of a split after the first
    element."""
    return (1,) if any(extent % 2 for extent in size) else 2


def square(size: Shape) -> Shape:
    """Shape of the largest square matrices within the size."""
    return (*size[:-2], min(size[-2:]), min(size[-2:]))


ARRAYS = frozenset(
    (
        *("a1", "a2", "ar1", "ar2", "arg1", "element", "object", "prototype", "source_array"),
        "test_elements",
    )
)
"""Names of arguments that are required arrays. Rules by name lack them, as other functions use some
of them for other kinds."""

REQUIRED: dict[str, Any] = {
    **dict.fromkeys(ARRAYS, whole),
    **dict.fromkeys(("n", "N"), rows),
    "M": elements,
    "axis": 0,
    "axis1": 0,
    "axis2": 1,
    "deg": 2,
    "destination": -1,
    "fill_value": 1.0,
    "indices_or_sections": parts,
    "kth": 1,
    "new_shape": whole,
    "newshape": (-1,),
    "obj": 0,
    "q": 0.5,
    "shift": 1,
    "source": 0,
    "stype": "csr",
    "val": 1.0,
}
"""Values of required arguments without a rule, by name: each a value, or a function of the size.
`q` is valid as a percentile and as a quantile."""


def matrix(size: Shape) -> tuple[int, int]:
    """Shape of a matrix: the size with its leading axes merged."""
    return (math.prod(size[:-1]), size[-1])


def zeros(dtype: str) -> Callable[[Shape], Any]:
    """The function that makes zeros of a fixed dtype, in the size."""
    return lambda size: np.zeros(size, dtype)


def two_tensors(size: Shape) -> list[Shape]:
    """Shapes of two tensors of the size."""
    return [size, size]


def image(size: Shape) -> Shape:
    """Shape of a colour image of the size's height and width."""
    return (size[0], size[-1], 3)


def half_width(size: Shape) -> int:
    """Half the width of an image."""
    return max(1, size[-1] // 2)


def half_height(size: Shape) -> int:
    """Half the height of an image."""
    return max(1, size[0] // 2)


def half_size(size: Shape) -> tuple[int, int]:
    """Half the width and half the height of an image, as MXNet's functions take them."""
    return (half_width(size), half_height(size))


def image_batch(size: Shape) -> Shape:
    """Shape of a batch of one colour image, with channels first."""
    return (1, 3, size[0], size[-1])


LAYERS: dict[str, Any] = {
    **dict.fromkeys(("weights", "grads", "mean", "var", "out"), two_tensors),
    "lrs": (0.1, 0.1),
    "wds": (0.0, 0.0),
}
"""Arguments of an update of two layers' weights at once, with outputs of their own."""
MASTERS = {"weights32": two_tensors}
COUNTS = {"step_count": (1, 1)}
RATES = {"rescale_grad": 1.0, "etas": (1.0, 1.0)}

UPDATES: dict[str, dict[str, Any]] = {
    f"ndarray.contrib.multi_{precision}{rule}_update": {**LAYERS, **masters, **own}
    for precision, masters in (("", {}), ("mp_", MASTERS))
    for rules, own in ((("lamb", "lans"), COUNTS), (("adamw", "adabelief"), RATES))
    for rule in rules
}

HALF = {"w": half_width, "h": half_height}
INCEPTION = {"area": (0.08, 1.0), "ratio": (3 / 4, 4 / 3)}
"""Ranges of a crop's share of the image and of its aspect ratio, like in the training of
GoogLeNet."""

MATRIX = {"N": rows, "M": lambda size: size[-1]}
COUNTED = {"start": 0.0, "stop": 1.0, "num": elements}
RANGE = {"start": 0, "stop": elements}
CSR = {"stype": "csr", "shape": matrix}

ARGUMENTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("ndarray.ndarray.arange", "numpy.arange"), RANGE),
    **dict.fromkeys(("ndarray.ndarray.eye", "numpy.eye", "numpy.tri"), MATRIX),
    **dict.fromkeys(("ndarray.ndarray.linspace", "numpy.linspace", "numpy.logspace"), COUNTED),
    **{f"numpy.poly{verb}": {"a1": flat, "a2": flat} for verb in ("add", "sub", "mul")},
    **UPDATES,
    **dict.fromkeys(("ndarray.sparse.empty", "ndarray.sparse.zeros"), CSR),
    **dict.fromkeys(
        ("ndarray.sparse.csr_matrix", "ndarray.sparse.row_sparse_array"), {"arg1": matrix}
    ),
    **dict.fromkeys(("numpy.packbits", "numpy.unpackbits"), {"a": zeros("uint8")}),
    **dict.fromkeys(("numpy.tril_indices_from", "numpy.triu_indices_from"), {"arr": matrix}),
    "ndarray.contrib.rand_zipfian": {
        "true_classes": lambda size: np.arange(elements(size)),
        "num_sampled": elements,
        "range_max": 10_000,
    },
    "image.image.center_crop": {"src": image, "size": half_size},
    "image.image.fixed_crop": {"src": image, "x0": 0, "y0": 0, **HALF},
    "image.image.imdecode": {"buf": np.frombuffer(jpeg(TILE_SIDE, TILE_SIDE), np.uint8)},
    "image.image.imresize": {"src": image, **HALF},
    "image.image.imrotate": {"src": image_batch, "rotation_degrees": 30.0},
    "image.image.random_crop": {"src": image, "size": half_size},
    "image.image.random_rotate": {"src": image_batch, "angle_limits": (-30.0, 30.0)},
    "image.image.random_size_crop": {"src": image, "size": half_size, **INCEPTION},
    "image.image.resize_short": {"src": image, "size": half_height},
    "numpy.alltrue": {"a": whole},
    "numpy.asarray": {"obj": whole},
    "numpy.compress": {"condition": leading, "a": whole, "axis": 0},
    "numpy.corrcoef": {"x": matrix},
    "numpy.correlate": {"a": flat, "v": flat},
    "numpy.cov": {"m": matrix},
    "numpy.digitize": {"x": whole, "bins": np.linspace(-2.0, 2.0, 9)},
    "numpy.einsum": {"operands": lambda size: ["...i,...i->...", size, size]},
    "numpy.histogram2d": {"x": flat, "y": flat},
    "numpy.histogramdd": {"sample": lambda size: (elements(size), 2)},
    "numpy.identity": {"n": rows},
    "numpy.imag": {"val": whole},
    "numpy.insert": {"arr": whole, "obj": 0, "values": lambda size: size[1:], "axis": 0},
    "numpy.interp": {"x": whole, "xp": flat, "fp": flat},
    "numpy.ix_": {"args": lambda size: [flat(size), flat(size)]},
    "numpy.lexsort": {"keys": whole},
    "numpy.linalg.lstsq": {"a": matrix, "b": matrix},
    "numpy.linalg.matrix_power": {"a": square, "n": 3},
    "numpy.poly": {"seq_of_zeros": flat},
    "numpy.polydiv": {"u": flat, "v": flat},
    "numpy.polyfit": {"x": flat, "y": flat, "deg": 2},
    "numpy.polyint": {"p": flat},
    "numpy.random.beta": {"a": 2.0, "b": 3.0},
    "numpy.random.chisquare": {"df": 3.0},
    "numpy.random.f": {"dfnum": 4.0, "dfden": 6.0},
    "numpy.random.multivariate_normal": {"mean": np.zeros(2), "cov": np.eye(2), "size": whole},
    "numpy.random.power": {"a": 3.0},
    "numpy.random.randint": {"low": 0, "high": 100},
    "numpy.real": {"val": whole},
    "numpy.roots": {"p": leading},
    "numpy.searchsorted": {"a": flat, "v": whole},
    "numpy.take_along_axis": {"arr": whole, "indices": zeros("int64"), "axis": 0},
    "numpy.tensordot": {"a": whole, "b": lambda size: size[::-1], "axes": 1},
    "numpy.trim_zeros": {"filt": flat},
    "numpy.vander": {"x": leading},
    "numpy_extension.random.normal_n": {"loc": 0.0, "scale": 1.0, "batch_shape": whole},
    "numpy_extension.random.uniform_n": {"low": 0.0, "high": 1.0, "batch_shape": whole},
}
"""Arguments of functions, by their place in MXNet, that neither a rule nor `REQUIRED` has: arrays
of one axis, numbers in place of a shape, parameters of distributions."""

SHAPE_ARGUMENTS = ("size", "dimensions", "shape")
"""Arguments with the shape of the array that a function makes, of which the first that it has is
used: `np.random.gamma` has two, and its `shape` is a parameter of the distribution."""
