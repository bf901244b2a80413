"""PyTorch's Fourier transforms, and its scaling of pictures."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Use, as_list, merge, use

KINDS = {
    "": "fourier_transform",
    "h": "hermitian_fourier_transform",
    "i": "inverse_fourier_transform",
    "ih": "inverse_hermitian_fourier_transform",
    "ir": "inverse_real_fourier_transform",
    "r": "real_fourier_transform",
}
"""Operations by the beginning of the name, in front of `fft`."""

AXES = {"": (-1,), "2": (-2, -1), "n": None}
"""The transformed axes, by the end of the name."""


def transform(operation: str, usual: tuple[int, ...] | None) -> Use:
    """The use of a transform along its usual axes, where a call names none; None stands for all."""

    def roles_of(self: Array, dim: Any = None) -> dict[str, Any]:
        axes = usual if dim is None else dim
        if axes is None:
            axes = range(self.ndim)
        return {"x": self, "axes": (axes,) if isinstance(axes, int) else tuple(axes)}

    return use(operation, roles_of)


def shift_roles(direction: int) -> Any:
    """The conversion of the arguments of a shift by half of each axis, to the right or back."""

    def roles_of(self: Array, dim: Any = None) -> dict[str, Any]:
        axes = tuple(range(self.ndim)) if dim is None else tuple(dim)
        halves = tuple(direction * (self.shape[axis] // 2) for axis in axes)
        return {"x": self, "shift": halves, "axis": axes}

    return roles_of


def framed_roles(self: Array, n_fft: int, hop_length: int, window: Array) -> dict[str, Any]:
    """Signals, or spectra of frames, the window, and the distance of frames."""
    assert n_fft == len(window)
    return {"x": self, "window": window, "hop": hop_length}


def spectra_roles(return_complex: bool, center: bool = False, **arguments: Any) -> dict[str, Any]:
    """Signals, the window, the distance of frames, and whether frames are centred."""
    assert return_complex
    return {**framed_roles(**arguments), "centred": center}


FOURIER: Table = {
    **{
        f"fft_{start}fft{end}": transform(operation, axes)
        for start, operation in KINDS.items()
        for end, axes in AXES.items()
    },
    "fft_fftshift": use("roll", shift_roles(1)),
    "fft_ifftshift": use("roll", shift_roles(-1)),
    "istft": use("inverse_short_time_fourier_transform", framed_roles),
    "stft": use("short_time_fourier_transform", spectra_roles),
}

METHODS = {
    "bicubic2d": "cubic",
    "bilinear2d": "linear",
    "linear1d": "linear",
    "nearest1d": "nearest",
    "nearest2d": "nearest",
    "nearest3d": "nearest",
    "trilinear3d": "linear",
}
"""Methods of scaling by the operator's name without `upsample`."""


def spatial_axes(operator: Operator) -> int:
    """The number of spatial axes, which the operator's name has."""
    return int(operator.name.removesuffix("_backward")[-2])


def is_of(operator: Operator, tensor: Argument) -> bool:
    """Whether a tensor has as many spatial axes as the operator's."""
    return isinstance(tensor, TensorSpec) and len(tensor.shape) == spatial_axes(operator) + 2


def corners(roles: Roles) -> Roles:
    """The alignment of corners, where the method has one."""
    return {"align_corners": roles["align_corners"]} if "align_corners" in roles else {}


EXACT = 8
"""Factors of so many parts of a whole give the extents that they were computed from: others may be
rounded."""


def upsample_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor and its new extents; for an overload that takes them, the factors."""
    data, output = roles["data"], as_list(roles["output_size"])
    if not is_of(operator, data):
        return None
    assert isinstance(data, TensorSpec)
    if operator.parameter("scale_factors") is None:
        return {"self": data, "output_size": output, **corners(roles)}
    pairs = zip(output, data.shape[2:], strict=True)
    factors = tuple(after / before for after, before in pairs)
    if any(not (factor * EXACT).is_integer() for factor in factors):
        return None
    return {"input": data, **corners(roles), "scale_factors": factors}


def upsample_roles(**arguments: Any) -> dict[str, Any]:
    """A tensor, its new extents, and whether corners are aligned."""
    data = arguments["self"] if "self" in arguments else arguments["input"]
    output = arguments.get("output_size")
    if output is None:
        pairs = zip(data.shape[2:], arguments["scale_factors"], strict=True)
        output = tuple(int(extent * factor) for extent, factor in pairs)
    return {"data": data, "output_size": tuple(output), **corners(arguments)}


def gradient_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The gradient at the result, and the extents of both."""
    gradient, inside = roles["gradient"], as_list(roles["input_size"])
    if not is_of(operator, gradient):
        return None
    assert isinstance(gradient, TensorSpec)
    return {
        "grad_output": gradient,
        "output_size": gradient.shape[2:],
        "input_size": (*gradient.shape[:2], *inside),
        **corners(roles),
    }


def gradient_roles(
    grad_output: Array, output_size: Any, input_size: Any, **options: Any
) -> dict[str, Any]:
    """The gradient at the result, and the spatial extents at the input."""
    return {"gradient": grad_output, "input_size": tuple(input_size[2:]), **corners(options)}


SCALED: Table = {
    **{
        f"upsample_{name}": use(
            f"upsample_{method}", upsample_roles, to_arguments=upsample_arguments
        )
        for name, method in METHODS.items()
    },
    **{
        f"upsample_{name}_backward": use(
            f"upsample_{method}_gradient", gradient_roles, to_arguments=gradient_arguments
        )
        for name, method in METHODS.items()
    },
}

TABLE: Table = merge(FOURIER, SCALED)
