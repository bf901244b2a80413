"""PyTorch's operators that move, join, split and repeat elements."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Kind, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Use, as_list, merge, use, uses
from opperf.rules.families.indexing import only_slice
from opperf.rules.values import fixed, literal


def rank(roles: Roles) -> int:
    """The number of axes of the tensor `x`."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    return len(x.shape)


def _flip_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    axes = as_list(roles["axis"]) if "axis" in roles else tuple(range(rank(roles)))
    return {"self": roles["x"], "dims": axes}


def _of_one_axis(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    source, destination = as_list(roles["source"]), as_list(roles["destination"])
    if len(source) > 1:
        return None
    return {"self": roles["x"], "source": source[0], "destination": destination[0]}


def _flatten_roles(self: Array, start_dim: int = 0, end_dim: int = -1) -> dict[str, Any]:
    end = end_dim % self.ndim + 1
    return {"x": self, "shape": (*self.shape[:start_dim], -1, *self.shape[end:])}


def _unflatten_roles(self: Array, dim: int, sizes: tuple[int, ...]) -> dict[str, Any]:
    at = dim % self.ndim
    return {"x": self, "shape": (*self.shape[:at], *sizes, *self.shape[at + 1 :])}


def along(ndim: int, dim: int, begin: Any, end: Any, step: int) -> dict[str, Any]:
    """The beginning, end and step of a slice along each axis, whole but for one."""
    whole = (None,) * ndim

    def at(value: Any) -> tuple[Any, ...]:
        return (*whole[:dim], value, *whole[dim + 1 :])

    return {"begin": at(begin), "end": at(end), "step": at(step)}


def _narrow_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    begin, end = roles["begin"], roles["end"]
    assert isinstance(begin, int) and isinstance(end, int)
    start = operator.parameter("start")
    is_tensor = start is not None and start.kind is Kind.TENSOR
    first: Argument = fixed(fill=literal(begin), dtype="int64") if is_tensor else begin
    return {"self": roles["data"], "dim": roles["axis"], "start": first, "length": end - begin}


def _slice_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    part = only_slice(roles)
    if part is None:
        return None
    dim, start, end, step = part
    cut: dict[str, Argument] = {"self": roles["data"], "dim": dim, "start": start, "end": end}
    return cut if step == 1 else {**cut, "step": step}


def _slice_backward_roles(
    grad_output: Array, input_sizes: Any, dim: int, start: int, end: int, step: int
) -> dict[str, Any]:
    import numpy as np

    zeros = np.zeros(input_sizes)
    return {
        "data": zeros,
        "values": grad_output,
        **along(zeros.ndim, dim % zeros.ndim, start, end, step),
    }


def select_backward_roles(
    grad_output: Array, input_sizes: Any, dim: int, index: int
) -> dict[str, Any]:
    """Zeros, at one index of which the gradient is written."""
    import numpy as np

    at = index % input_sizes[dim]
    values = np.expand_dims(grad_output, dim)
    return _slice_backward_roles(values, input_sizes, dim, at, at + 1, 1)


def _resize_roles(self: Array, **size: Any) -> dict[str, Any]:
    import numpy as np

    shape = tuple(size["size"]) if "size" in size else size["the_template"].shape
    return {"x": self.ravel()[: int(np.prod(shape))], "shape": shape}


def one_of(operation: str) -> Use:
    """The use of an operator that makes one tensor of one, of an operation of a list."""
    return use(
        operation,
        lambda self: {"tensors": [self]},
        lambda made, arguments: made[0],
        lambda operator, roles: {"self": first(roles["tensors"])},
    )


def first(tensors: Argument) -> Argument:
    """The first tensor of a list."""
    assert isinstance(tensors, tuple)
    return tensors[0]


TRANSPOSED: dict[str, Any] = {"axis1": -2, "axis2": -1}
"""Both axes of matrices."""

CONJUGATE = use("swapaxes", lambda self: {"x": self.conj(), **TRANSPOSED})
MOVED = use("moveaxis", "x=self source destination", to_arguments=_of_one_axis)
SEVERAL_MOVED = use("moveaxis", "x=self source destination")
PERMUTED = use("transpose", "x=self axes=dims")
SWAPPED = "x=self axis1=axis0|dim0 axis2=axis1|dim1"
BROADCAST = use("broadcast", "x=self shape=size -implicit")
SQUEEZED = use("squeeze", "x=self axis=dim")
NARROWED = use(
    "slice_axis",
    lambda self, dim, start, length: {
        "data": self,
        "axis": dim,
        "begin": int(start),
        "end": int(start) + length,
    },
    to_arguments=_narrow_arguments,
)
PARTS = use(
    "slice",
    lambda self, dim=0, start=None, end=None, step=1: {
        "data": self,
        **along(self.ndim, dim % self.ndim, start, end, step),
    },
    to_arguments=_slice_arguments,
)
SELECTED = use("take", "data=self axis=dim indices=index")
DIAGONAL = use("diagonal", "x=self offset axis1=dim1 axis2=dim2")
RESIZED = use("reshape", _resize_roles)
WINDOWS = use("sliding_windows", "x=self axis=dimension size step")
STRIDED = use("as_strided", "x=self shape=size strides=stride offset=storage_offset")
RESHAPED = use("reshape", "x=self shape=size|shape")
TURNED_OVER = use("transpose", "x=self")
BITS = use("bitcast", lambda self, dtype: {"x": self, "dtype": str(dtype).removeprefix("torch.")})
SAME = use("identity", "x=self")
COMPLEX = use("complex", lambda self: {"x": self[..., 0], "y": self[..., 1]})
REAL = use("stack", lambda self: {"tensors": [self.real, self.imag], "axis": -1})

VIEWS: Table = {
    "adjoint": CONJUGATE,
    "alias": SAME,
    "as_strided": STRIDED,
    "broadcast_to": BROADCAST,
    "detach": SAME,
    "diagonal": DIAGONAL,
    "expand": BROADCAST,
    "expand_as": use("broadcast_like", "x=self like=other"),
    "flatten.using_ints": use("reshape", _flatten_roles),
    "mH": CONJUGATE,
    "mT": use("swapaxes", "x=self", **TRANSPOSED),
    "moveaxis.int": MOVED,
    "moveaxis.intlist": SEVERAL_MOVED,
    "movedim.int": MOVED,
    "movedim.intlist": SEVERAL_MOVED,
    "narrow": NARROWED,
    "numpy_T": TURNED_OVER,
    "permute": PERMUTED,
    "ravel": use("reshape", "x=self", shape=(-1,)),
    "reshape": RESHAPED,
    "reshape_as": use("reshape_like", "x=self like=other"),
    "select.int": SELECTED,
    "slice.Tensor": PARTS,
    "squeeze": SQUEEZED,
    "swapaxes": use("swapaxes", SWAPPED),
    "swapdims": use("swapaxes", SWAPPED),
    "t": TURNED_OVER,
    "transpose.int": use("swapaxes", SWAPPED),
    "unflatten.int": use("reshape", _unflatten_roles),
    "unfold": WINDOWS,
    "unsqueeze": use("expand_dims", "x=self axis=dim"),
    "view": RESHAPED,
    "view.dtype": BITS,
    "view_as": use("reshape_like", "x=self like=other"),
    "view_as_complex": COMPLEX,
    "view_as_real": REAL,
}
"""Operators that return another view of the tensor's own elements."""

COPIED = (
    *("alias", "as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select.int"),
    *("slice.Tensor", "squeeze", "t", "transpose.int", "unfold", "unsqueeze"),
    *("view", "view.dtype", "view_as_complex", "view_as_real"),
)
"""Those of them that have a form that copies, named with `_copy`."""


def copy_of(name: str) -> str:
    """The name of the form of a view that copies: `select_copy.int` of `select.int`."""
    base, dot, overload = name.partition(".")
    return f"{base}_copy{dot}{overload}"


REARRANGED: Table = merge(
    uses(("atleast_1d", "atleast_2d", "atleast_3d"), "tensors", "{}.Sequence"),
    {f"atleast_{count}d": one_of(f"atleast_{count}d") for count in (1, 2, 3)},
    {
        "diag": use("diag", "x=self offset=diagonal"),
        "diag_embed": use("diagonal_embedding", "x=self offset axis1=dim1 axis2=dim2"),
        # Of square matrices, whose every diagonal is as long as an embedded one.
        "diagonal_backward": use(
            "diagonal_embedding", "x=grad_output offset axis1=dim1 axis2=dim2 -input_sizes"
        ),
        "diagflat": use("diagflat", "x=self"),
        "flip": use("flip", "x=self axis=dims", to_arguments=_flip_arguments),
        "fliplr": use("flip", "x=self", axis=1),
        "flipud": use("flip", "x=self", axis=0),
        "repeat": use("tile", "x=self times=repeats"),
        "repeat_interleave.Tensor": use(
            "repeat",
            lambda repeats, output_size=None: {
                "x": repeats.cumsum() * 0 + range(len(repeats)),
                "times": repeats,
                "axis": 0,
            },
        ),
        "repeat_interleave": use("repeat", "x=self times=repeats axis=dim -output_size"),
        "resize": RESIZED,
        "resize_as": RESIZED,
        "roll": use("roll", "x=self shift=shifts axis=dims"),
        "rot90": use("rot90", "x=self times=k axes=dims"),
        "select_backward": use("slice_assign", select_backward_roles),
        "set.source_Tensor": use("identity", "x=source -self"),
        "slice_backward": use("slice_assign", _slice_backward_roles),
        "tile": use("tile", "x=self times=dims"),
        "tril": use("tril", "x=self offset=diagonal"),
        "triu": use("triu", "x=self offset=diagonal"),
    },
)

OPERATIONS: Table = merge(VIEWS, {copy_of(name): VIEWS[name] for name in COPIED}, REARRANGED)
