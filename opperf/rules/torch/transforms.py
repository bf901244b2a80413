"""Families of PyTorch's Fourier transforms, and of enlargements and reductions of images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, as_list, merge, use
from opperf.rules.configurations import OUTSIDE, TAGS, WHY
from opperf.rules.families.transforms import AXES, along
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.torch.views import COMPLEX, sound
from opperf.rules.values import POSITIVE, Arguments, below, call, fixed, taken, tensor
from opperf.rules.variants import Variants, add_rows

KINDS = {
    "": "fourier_transform",
    "h": "hermitian_fourier_transform",
    "i": "inverse_fourier_transform",
    "ih": "inverse_hermitian_fourier_transform",
    "ir": "inverse_real_fourier_transform",
    "r": "real_fourier_transform",
}
"""Operations by the beginning of the name, in front of `fft`."""


def _shift_roles(direction: int) -> Any:
    def roles_of(self: Array, dim: Any = None) -> dict[str, Any]:
        axes = tuple(range(self.ndim)) if dim is None else tuple(dim)
        halves = tuple(direction * (self.shape[axis] // 2) for axis in axes)
        return {"x": self, "shift": halves, "axis": axes}

    return roles_of


def _framed_roles(self: Array, n_fft: int, hop_length: int, window: Array) -> dict[str, Any]:
    assert n_fft == len(window)
    return {"x": self, "window": window, "hop": hop_length}


def _spectra_roles(return_complex: bool, center: bool = False, **arguments: Any) -> dict[str, Any]:
    assert return_complex
    return {**_framed_roles(**arguments), "centred": center}


FOURIER: Table = {
    **{
        f"fft_{start}fft{end}": along(operation, "self", "dim", usual)
        for start, operation in KINDS.items()
        for end, usual in AXES.items()
    },
    "fft_fftshift": use("roll", _shift_roles(1)),
    "fft_ifftshift": use("roll", _shift_roles(-1)),
    "istft": use("inverse_short_time_fourier_transform", _framed_roles),
    "stft": use("short_time_fourier_transform", _spectra_roles),
}

METHODS = {
    "bicubic2d": "cubic",
    **dict.fromkeys(("bilinear2d", "linear1d", "trilinear3d"), "linear"),
    **dict.fromkeys(("nearest1d", "nearest2d", "nearest3d"), "nearest"),
}
"""Methods of scaling by the operator's name without `upsample`."""


def spatial_axes(operator: Operator) -> int:
    """The number of spatial axes, which the operator's name has."""
    return int(operator.name.removesuffix("_backward")[-2])


def _is_of(operator: Operator, tensor: Argument) -> bool:
    return isinstance(tensor, TensorSpec) and len(tensor.shape) == spatial_axes(operator) + 2


def _corners(roles: Roles) -> Roles:
    return {"align_corners": roles["align_corners"]} if "align_corners" in roles else {}


EXACT = 8
"""Factors of so many parts of a whole give the extents that they came from, not rounded ones."""


def upsample_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor and its new extents; for an overload that takes them, exact factors."""
    data, output = roles["data"], as_list(roles["output_size"])
    if not _is_of(operator, data):
        return None
    assert isinstance(data, TensorSpec)
    if operator.parameter("scale_factors") is None:
        return {"self": data, "output_size": output, **_corners(roles)}
    pairs = zip(output, data.shape[2:], strict=True)
    factors = tuple(after / before for after, before in pairs)
    if any(not (factor * EXACT).is_integer() for factor in factors):
        return {"input": data, "output_size": output, **_corners(roles), "scale_factors": None}
    return {"input": data, **_corners(roles), "scale_factors": factors}


def _upsample_roles(**arguments: Any) -> dict[str, Any]:
    data = arguments["self"] if "self" in arguments else arguments["input"]
    output = arguments.get("output_size")
    if output is None:
        pairs = zip(data.shape[2:], arguments["scale_factors"], strict=True)
        output = tuple(int(extent * factor) for extent, factor in pairs)
    return {"data": data, "output_size": tuple(output), **_corners(arguments)}


def _gradient_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    gradient, inside = roles["gradient"], as_list(roles["input_size"])
    if not _is_of(operator, gradient):
        return None
    assert isinstance(gradient, TensorSpec)
    return {
        **{"grad_output": gradient, "output_size": gradient.shape[2:], **_corners(roles)},
        "input_size": (*gradient.shape[:2], *inside),
    }


def _gradient_roles(grad_output: Array, input_size: Any, **options: Any) -> dict[str, Any]:
    return {"gradient": grad_output, "input_size": tuple(input_size[2:]), **_corners(options)}


SCALED: Table = {
    f"upsample_{name}{end}": use(f"upsample_{method}{what}", roles, to_arguments=arguments)
    for name, method in METHODS.items()
    for end, what, roles, arguments in (
        ("", "", _upsample_roles, upsample_arguments),
        ("_backward", "_gradient", _gradient_roles, _gradient_arguments),
    )
}

OPERATIONS: Table = merge(FOURIER, SCALED)


FAMILIES = Families()


FRAMES = (
    (400, 160, "30 seconds of speech at 16 kHz, as Whisper hears them"),
    (1024, 256, "speech at the resolution of Tacotron 2 and of most vocoders"),
)
"""Samples of a frame, from one frame to the next, and why."""


def framed(start: str, **options: Argument) -> Variants:
    """The configurations of a transform of frames of sound, or of the inverse of their spectra."""

    def variants(size: Preset) -> Rows:
        count, (samples,) = size.samples(2), sound(size)
        return {
            f"{start}{why}": call(
                self=tensor(count, length // 2 + 1, samples // hop + 1, dtype=COMPLEX)
                if start
                else tensor(count, samples),
                n_fft=length,
                hop_length=hop,
                window=fixed(length, fill=POSITIVE),
                **options,
                **{TAGS: (OUTSIDE,)},
            )
            for length, hop, why in FRAMES
        }

    return variants


ROWS: dict[str, Variants] = {
    "istft": framed("spectra of "),
    "stft": framed("", return_complex=True),
    "stft.center": framed("", center=True, return_complex=True),
    "fft_fftshift fft_ifftshift": lambda size: {
        "an image's spectrum: four blocks copied": call(self=tensor(*square(size), dtype=COMPLEX)),
        "along rows: halves copied": call(self=tensor(*square(size), dtype=COMPLEX), dim=(1,)),
    },
}
add_rows(FAMILIES.add, ROWS)


SMOOTH = tuple(f"_upsample_{method}2d_aa" for method in ("bicubic", "bilinear", "lanczos"))
NEAREST = tuple(f"_upsample_nearest_exact{axes}d" for axes in (1, 2, 3))


def images(size: Preset) -> Iterable[tuple[str, Shape, Shape]]:
    """Why images are resized, their shape, and their new extents."""
    count, side, less, few = size.samples(4), size.side(512), size.side(224), size.side(64)
    return (
        ("photographs made smaller for a classifier", (count, 3, side, side), (less, less)),
        ("masks of a segmentation, four times as large", (count, 21, few, few), (4 * few, 4 * few)),
    )


def signals(size: Preset, axes: int) -> Iterable[tuple[str, Shape, Shape]]:
    """Maps of one, two or three axes, made twice as large in each."""
    what, channels, side = {
        1: ("a signal", 64, size.extent(4096, least=64)),
        2: ("feature maps", 128, size.side(64)),
        3: ("a volume", 32, size.side(16)),
    }[axes]
    why = f"{what} of a decoder, twice as long in each axis"
    yield why, (size.samples(4), channels, *(side,) * axes), (2 * side,) * axes


@FAMILIES.add(*SMOOTH, *NEAREST, *(f"{name}_backward" for name in (*SMOOTH, *NEAREST)))
def resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images to other extents, or the gradient of that."""
    smooth = "_aa" in operator.name
    for why, before, after in images(size) if smooth else signals(size, spatial_axes(operator)):
        offered: Arguments = {
            **dict.fromkeys(("self", "input"), tensor(*before)),
            "grad_output": tensor(*before[:2], *after),
            **{"output_size": after, "input_size": before},
            **({"align_corners": False} if smooth else {}),
        }
        yield {**taken(operator, offered), WHY: why}


@FAMILIES.also(*SMOOTH)
def bytes_of_photographs(operator: Operator, size: Preset) -> Rows:
    """Photographs as they are decoded, for which there are kernels of their own."""
    (_, before, after), _ = images(size)
    decoded = TensorSpec(before, "uint8", below(256), memory_format="channels_last")
    offered = dict.fromkeys(("self", "input"), decoded)
    return {
        "decoded photos": call(**taken(operator, offered), output_size=after, align_corners=False)
    }
