"""PyTorch's tensors from specs, and specs from tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import torch

from opperf.dtypes import kind_of
from opperf.errors import UnsupportedError
from opperf.frameworks import fill
from opperf.frameworks.base import Contents, Extent
from opperf.frameworks.torch import devices, private
from opperf.frameworks.torch.devices import dtype_of, name_of
from opperf.frameworks.torch.packed import BY_CHANNEL, CENTRED, PACKED, by_row, packed
from opperf.frameworks.user_inputs import FUNCTION
from opperf.model import TensorSpec

META = "meta"
"""PyTorch's device of tensors without data, on which calls infer shapes."""

QUANTIZED = ("qint8", "quint8", "qint32")
"""Dtypes of tensors that have a scale and a zero point."""

SCALE, ZERO_POINT = 0.05, 2
"""Of quantised tensors: 8 bits reach from -6.5 to 6.25, which most normal random numbers are in."""

BLOCK = (4, 4)
"""Rows and columns of the blocks of a block-sparse tensor, as block-sparse kernels support."""


NUMPY_DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64"),
    *("complex64", "complex128"),
)
"""Dtypes that NumPy has, and PyTorch makes tensors from."""

WIDER = {"integer": "int64", "complex": "complex64"}
"""Dtype in which NumPy makes the contents of a dtype of these kinds that it lacks."""

PAIRS, BYTES = "float4_e2m1fn_x2", "uint8"
"""Two numbers in a byte, which PyTorch converts from and to nothing, and what they are made of."""

FROM_NUMPY = "torch.from_numpy(np.require({made}, requirements=['C', 'W', 'O']))"
"""A tensor of an array's contents. PyTorch would share read-only memory, and writes to it."""


def tensor(spec: TensorSpec, device: str, seed: int) -> torch.Tensor:
    """Returns a tensor as specified. Raises `UnsupportedError` if PyTorch has no such tensor."""
    if device == META:
        return _meta(spec)
    made: torch.Tensor = code(spec, seed).run(torch=torch)
    if spec.layout in PACKED:
        if not device.startswith("cpu"):
            raise UnsupportedError("packed weights are of the CPU's kernels alone")
        return made
    return made.to(devices.torch_device(device))


def _meta(spec: TensorSpec) -> torch.Tensor:
    if spec.layout != "dense" or spec.dtype in QUANTIZED:
        raise UnsupportedError(f"{spec.layout} {spec.dtype} tensors have data only")
    made = torch.empty(spec.shape, dtype=dtype_of(spec.dtype), device=META)
    return made.contiguous(memory_format=memory_format(spec)) if spec.memory_format else made


def code(spec: TensorSpec, seed: int) -> fill.Code:
    """Returns the code of a tensor on the CPU, which uses `torch`. Raises `UnsupportedError`."""
    if spec.layout not in LAYOUTS:
        raise UnsupportedError(f"PyTorch has no {spec.layout} tensors")
    dtype_of(spec.dtype)
    if spec.fill.distribution == FUNCTION:
        return _returned(spec)
    made = _contents(spec, seed)
    if spec.dtype in QUANTIZED and spec.layout not in OWN_SCALES:
        made = made.within(
            f"torch.quantize_per_tensor({{made}}.float(), {SCALE}, {ZERO_POINT}, "
            f"torch.{spec.dtype})"
        )
    elif spec.dtype not in (*NUMPY_DTYPES, *QUANTIZED):
        convert = "view" if spec.dtype == PAIRS else "to"
        made = made.within(f"{{made}}.{convert}(torch.{spec.dtype})")
    made = LAYOUTS[spec.layout](made, spec, seed)
    if not spec.memory_format:
        return made
    order = memory_format(spec)
    return made.within(f"{{made}}.contiguous(memory_format={order})")


def _returned(spec: TensorSpec) -> fill.Code:
    made = fill.returned(spec).within("torch.as_tensor({made}).detach()")
    if spec.fill.dtype and not spec.is_view:
        made = made.within(f"{{made}}.to(torch.{spec.dtype})")
    if spec.memory_format and not spec.is_view:
        made = made.within(f"{{made}}.contiguous(memory_format={memory_format(spec)})")
    return made


def _contents(spec: TensorSpec, seed: int) -> fill.Code:
    dtype = spec.dtype
    if dtype == PAIRS:
        dtype = BYTES
    elif dtype not in NUMPY_DTYPES:
        dtype = WIDER.get(kind_of(dtype) or "", "float32")
    return fill.code(msgspec.structs.replace(spec, dtype=dtype), seed).within(FROM_NUMPY)


REPEATED = (
    "torch.sparse_coo_tensor(torch.from_numpy(np.random.default_rng({kept}).integers(0, {below}, "
    "{indices})), {made}.flatten()[:{count}], {shape})"
)
"""A tensor of elements in no order, some of them at the same coordinates."""


def _uncoalesced(dense: fill.Code, spec: TensorSpec, seed: int) -> fill.Code:
    below = [[extent] for extent in spec.shape]
    indices = (len(spec.shape), spec.stored)
    values = {"count": spec.stored, "shape": spec.shape, "below": below, "indices": indices}
    return dense.within(REPEATED, kept=seed, **values)


Arrange = Callable[[fill.Code, TensorSpec, int], fill.Code]
"""Returns the code of a tensor of a layout from that of a dense one, the spec and the seed."""


def _mask(shape: tuple[int, ...], density: float) -> tuple[str, dict[str, Any]]:
    count = math.prod(shape)
    values = {"count": count, "stored": min(count, max(1, round(count * density))), "places": shape}
    text = "(np.random.default_rng({kept}).permutation({count}) < {stored}).reshape({places})"
    return text, values


def _sparse(convert: str) -> Arrange:
    def arrange(dense: fill.Code, spec: TensorSpec, seed: int) -> fill.Code:
        mask, values = _mask(spec.shape, spec.density)
        return dense.within(
            f"({{made}} * torch.from_numpy({mask})).{convert}()", kept=seed, **values
        )

    return arrange


def _blocks(convert: str) -> Arrange:
    def arrange(dense: fill.Code, spec: TensorSpec, seed: int) -> fill.Code:
        *outer, rows, columns = spec.shape
        height, width = BLOCK
        if rows % height or columns % width:
            raise UnsupportedError(
                f"blocks of {height} x {width} do not fill a matrix of {rows} x {columns}"
            )
        mask, values = _mask((*outer, rows // height, columns // width), spec.density)
        spread = f"{mask}.repeat({height}, -2).repeat({width}, -1)"
        return dense.within(
            f"({{made}} * torch.from_numpy({spread})).{convert}({BLOCK})", kept=seed, **values
        )

    return arrange


SHORTEST = 0.5
"""Length of the shortest sequence of a nested tensor, as a share of the longest."""


def _nested(layout: str) -> Arrange:
    def arrange(dense: fill.Code, spec: TensorSpec, seed: int) -> fill.Code:
        ragged = max(1, len(spec.shape) - 2)
        count, longest = spec.shape[0], spec.shape[ragged]
        # Not by the seed, which each argument has its own of: two operands are of equal lengths.
        drawn = np.random.default_rng(count).uniform(SHORTEST, 1.0, count)
        # The first sequence is whole, so that the longest is as the shape says.
        lengths = (longest, *(max(1, int(share * longest)) for share in drawn[1:]))
        return dense.within(
            f"torch.nested.nested_tensor([row[{':, ' * (ragged - 1)}:length] for row, length in "
            f"zip({{made}}, {{lengths}})], layout={layout})",
            lengths=lengths,
        )

    return arrange


LAYOUTS: Mapping[str, Arrange] = {
    "dense": lambda dense, spec, seed: dense,
    "coo": _sparse("to_sparse_coo"),
    "uncoalesced": _uncoalesced,
    "csr": _sparse("to_sparse_csr"),
    "csc": _sparse("to_sparse_csc"),
    "bsr": _blocks("to_sparse_bsr"),
    "bsc": _blocks("to_sparse_bsc"),
    "nested": _nested("torch.strided"),
    "jagged": _nested("torch.jagged"),
    "mkldnn": lambda dense, spec, seed: dense.within("{made}.to_mkldnn()"),
    "per_channel": lambda dense, spec, seed: dense.within(BY_CHANNEL, channels=spec.shape[0]),
    "centred": lambda dense, spec, seed: dense.within(CENTRED),
    "table": lambda dense, spec, seed: dense.within(by_row(8, "quint8"), channels=spec.shape[0]),
    **dict.fromkeys(PACKED, packed),
}
"""How a tensor of each layout is made. `nested` and `jagged` have the shape of the padded batch,
and sequences along the last axis but one; `uncoalesced` is `coo` as it is read. `per_channel`,
`centred` and `table` are quantised."""

OWN_SCALES = ("per_channel", "centred", "table", *PACKED)
"""Layouts that have scales of their own, whose contents are real numbers until then."""

MEMORY_FORMATS = {
    "contiguous": torch.contiguous_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
    "preserve": torch.preserve_format,
}


def memory_format(spec: TensorSpec) -> torch.memory_format:
    """Returns the order of a tensor's axes in memory."""
    return MEMORY_FORMATS[spec.memory_format]


def view_expression(storage: str, spec: TensorSpec) -> str:
    """Returns `view` as an expression; `storage` is the variable of the other tensor."""
    return f"torch.as_strided({storage}, {spec.shape}, {spec.steps}, {spec.offset})"


def written(name: str, spec: TensorSpec, contents: fill.Code) -> list[str]:
    """Returns the lines that do what `write` does, with a view of this name."""
    once = ", ".join(":1" if step == 0 else ":" for step in spec.steps) or "..."
    *before, last = contents.lines(name)
    value = last.removeprefix(f"{name} = ")
    return [*before, f"{name}[{once}].copy_({value}[{once}])"]


def view(storage: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
    """Returns a tensor in the elements of another, one-dimensional one."""
    return torch.as_strided(storage, spec.shape, spec.steps, spec.offset)


def layout_of(value: torch.Tensor) -> str:
    """Returns the name of a tensor's layout."""
    if value.is_nested:
        return "jagged" if value.layout is torch.jagged else "nested"
    if value.is_quantized:
        return "dense" if value.qscheme() is torch.per_tensor_affine else "per_channel"
    return LAYOUT_NAMES[value.layout]


LAYOUT_NAMES: Mapping[torch.layout, str] = {
    torch.strided: "dense",
    torch.sparse_coo: "coo",
    torch.sparse_csr: "csr",
    torch.sparse_csc: "csc",
    torch.sparse_bsr: "bsr",
    torch.sparse_bsc: "bsc",
    **({found: "mkldnn"} if (found := private.MKLDNN.find()) else {}),
}


def _bytes_of_pairs(value: torch.Tensor) -> torch.Tensor:
    return value.view(torch.uint8) if name_of(value.dtype) == PAIRS else value


def stored_parts(value: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yields what a tensor stores, on the CPU, as dense vectors."""
    plain = _bytes_of_pairs(value.detach()).resolve_conj().resolve_neg().cpu()
    layout = layout_of(plain)
    if layout == "coo":
        # One that is not coalesced has places that are stored twice.
        parts = [private.INDICES.get()(plain), private.VALUES.get()(plain)]
    elif layout in ("csr", "bsr"):
        parts = [plain.crow_indices(), plain.col_indices(), plain.values()]
    elif layout in ("csc", "bsc"):
        parts = [plain.ccol_indices(), plain.row_indices(), plain.values()]
    elif layout in ("nested", "jagged"):
        parts = list(plain.unbind())
    elif plain.is_quantized:
        parts = [plain.int_repr()]
    else:
        parts = [plain.to_dense() if layout == "mkldnn" else plain]
    for part in parts:
        yield part.reshape(-1)


def tensors(values: Any) -> Iterator[torch.Tensor]:
    """Yields every tensor among arguments or results, lists, tuples and dicts opened."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from tensors(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors(value)


def has_nan(outputs: Any) -> bool:
    """Whether any tensor among a call's results has a NaN."""
    return any(map(_has_nan, tensors(outputs)))


def _has_nan(value: torch.Tensor) -> bool:
    if value.device.type == META or not (value.is_floating_point() or value.is_complex()):
        return False
    # A kernel for NaN exists for few layouts and for no float8.
    return any(
        bool(part.to(torch.float32 if part.element_size() == 1 else part.dtype).isnan().any())
        for part in stored_parts(value)
        if part.is_floating_point() or part.is_complex()
    )


NESTED = ("nested", "jagged")

LEAST_BYTES = 4
"""Of an element whose numbers NumPy has: smaller floating-point numbers become float32."""


def contents(value: Any) -> Contents | None:
    """Returns what a tensor holds: of a sparse one, zeros included; of a nested one, its sequences
    one after the other; of a quantised one, the numbers that it stands for; else None."""
    if not isinstance(value, torch.Tensor):
        return None
    plain = _bytes_of_pairs(value.detach())
    layout = layout_of(plain)
    count = sum(part.numel() for part in plain.unbind()) if layout in NESTED else plain.numel()

    def numbers(step: int) -> Any:
        flat = _flat(plain, layout)[::step]
        if kind_of(name_of(flat.dtype)) in ("float", "complex") and name_of(flat.dtype) not in (
            *NUMPY_DTYPES,
        ):
            flat = flat.to(torch.complex64 if flat.is_complex() else torch.float32)
        return flat.contiguous().cpu().numpy()

    return Contents(
        (count,) if layout in NESTED else tuple(plain.shape),
        name_of(value.dtype),
        layout,
        count * max(LEAST_BYTES, plain.element_size()),
        numbers,
    )


def _flat(value: torch.Tensor, layout: str) -> torch.Tensor:
    value = value.resolve_conj().resolve_neg()
    if private.IS_ZERO.get()(value):
        # As a gradient without elements in memory, of which NumPy makes no array.
        value = value.clone()
    if layout in NESTED:
        return torch.cat([part.reshape(-1) for part in value.unbind()])
    if value.is_quantized:
        return value.dequantize().reshape(-1)
    return (value if layout == "dense" else value.to_dense()).reshape(-1)


def extent(value: torch.Tensor) -> Extent:
    """Returns a tensor's place in memory. Of a sparse, nested or quantised one, only the bytes."""
    if layout_of(value) != "dense" or value.device.type == META:
        return Extent(sum(part.nbytes for part in stored_parts(value)), elements=value.numel())
    if not value.numel():
        return Extent(0)
    begin = value.data_ptr()
    steps = zip(value.shape, value.stride(), strict=True)
    last = sum((extent - 1) * step for extent, step in steps)
    end = begin + (last + 1) * value.element_size()
    # Elements that a stride of zero repeats count once.
    size = min(value.numel() * value.element_size(), end - begin)
    return Extent(size, begin, end, value.numel())


def extents(values: Any) -> list[Extent]:
    """Returns the places in memory of the tensors among values."""
    return [extent(tensor) for tensor in tensors(values)]
