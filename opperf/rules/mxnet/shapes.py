"""Operators that rearrange, repeat, join or split elements, without arithmetic."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Choice, Roles, Table, Use, as_list, merge, use
from opperf.rules.bert import UNITS, few_sentences
from opperf.rules.families.shapes import PADDING, PER_CHANNEL, PER_SAMPLE, PER_UNIT, POOLED
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, Shape, column, cube, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import call, fixed, literal, tensor, tensors
from opperf.rules.variants import Variants, add_rows


def reshape_roles(data: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """A tensor and its new shape, in which MXNet's 0 stands for the old extent."""
    kept = [data.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)]
    return {"x": data, "shape": kept}


def pad_roles(data: Any, mode: str, pad_width: Any) -> dict[str, Any]:
    """A tensor, the mode, and pairs of widths of each axis, from MXNet's flat list of them."""
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    return {"x": data, "mode": mode, "widths": pairs}


def split_roles(
    data: Any, indices: tuple[int, ...] = (), axis: int = 1, sections: int = 0, num_outputs: int = 0
) -> dict[str, Any]:
    """A tensor, the axis, and equal parts or starts of all but the first, which MXNet has too."""
    return {"x": data, "axis": axis, "parts": sections or num_outputs, "starts": tuple(indices[1:])}


def crop_roles(
    data: list[Any], offset: Any = (0, 0), h_w: Any = None, center_crop: Any = 0
) -> dict[str, Any]:
    """Images, the size to cut out, which may be another image's, and its offset."""
    size = h_w or data[1].shape[2:]
    if center_crop:
        offset = [(whole - part) // 2 for whole, part in zip(data[0].shape[2:], size, strict=True)]
    return {"data": data[0], "offset": tuple(offset), "size": tuple(size)}


def concatenate_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Tensors and the axis, which `_npi_concatenate` declares as `dim` and takes as `axis`."""
    name = "axis" if operator.name.startswith("_npi_") else "dim"
    return {"data": roles["tensors"], name: roles["axis"]}


def flip_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor and a list of axes; None without axes, which these operators require."""
    return {"data": roles["x"], "axis": as_list(roles["axis"])} if "axis" in roles else None


def split_along(axis: int) -> Use:
    """The use of an operator that splits along a fixed axis."""

    def arguments_of(operator: Operator, roles: Roles) -> dict[str, Argument]:
        starts = roles.get("starts")
        cuts: Roles = {"indices": (0, *starts)} if isinstance(starts, tuple) else {"indices": ()}
        equal: Roles = {"sections": roles["parts"]} if "parts" in roles else {}
        return {"data": roles["x"], **cuts, "axis": axis, **equal}

    return use("split", split_roles, to_arguments=arguments_of)


def unstack_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, the axis, and its extent, which the operator takes as the number of parts."""
    x, axis = roles["x"], roles["axis"]
    assert isinstance(x, TensorSpec) and isinstance(axis, int)
    return {"data": x, "axis": axis, "num_outputs": x.shape[axis]}


SPLIT = use("split", split_roles)
UNSTACK = use("unstack", "x=data axis -num_outputs -squeeze_axis", to_arguments=unstack_arguments)
RESHAPE = use("reshape", "x=a shape=newshape")
REPEAT = use("repeat", "x=data times=repeats axis")
BROADCAST = use("broadcast", "x=data|array shape")
CONCATENATE = use("concatenate", "tensors=data axis=axis|dim", to_arguments=concatenate_arguments)
FLIP = use("flip", "x=data axis", to_arguments=flip_arguments)

RENAMED = {
    "atleast_1d": use("atleast_1d", "tensors=arys"),
    "atleast_2d": use("atleast_2d", "tensors=arys"),
    "atleast_3d": use("atleast_3d", "tensors=arys"),
    "diag": use("diag", "x=data offset=k"),
    "diagflat": use("diagflat", "x=data"),
    "diagonal": use("diagonal", "x=data offset axis1 axis2"),
    "moveaxis": use("moveaxis", "x=a source destination"),
    "roll": use("roll", "x=data shift axis"),
    "squeeze": use("squeeze", "x=data|a axis"),
    "transpose": use("transpose", "x=data|a axes"),
}
"""Operators that have the prefix `_np_` in MXNet 1 and `_npi_` in MXNet 2."""

OPERATIONS: Table = merge(
    {f"_np_{name}": one for name, one in RENAMED.items()},
    {f"_npi_{name}": one for name, one in RENAMED.items()},
    {
        "Cast": use("cast", "x=data dtype"),
        "Concat": CONCATENATE,
        "Crop": use("crop", crop_roles),
        "Flatten": use("flatten", "x=data"),
        "Pad": use("pad", pad_roles),
        "Reshape": use("reshape", reshape_roles),
        "SliceChannel": Choice("squeeze_axis", {None: SPLIT, True: UNSTACK}),
        "SwapAxis": use("swapaxes", "x=data axis1=dim1 axis2=dim2"),
        "_contrib_arange_like": use("arange_like", "x=data axis"),
        "_contrib_dynamic_reshape": use("reshape", "x=data shape"),
        "_contrib_index_array": use("indices_of_elements", "x=data axes"),
        "_npi_broadcast_to": BROADCAST,
        "_npi_column_stack": use("column_stack", "tensors=data"),
        "_npi_concatenate": CONCATENATE,
        "_npi_diag_indices_from": use("diag_indices_from", "x=data"),
        "_npi_dsplit": split_along(2),
        "_npi_dstack": use("dstack", "tensors=data"),
        "_npi_flip": FLIP,
        "_npi_hsplit": split_along(1),
        "_npi_hstack": use("hstack", "tensors=data"),
        "_npi_pad": use("pad", "x=data widths=pad_width mode"),
        "_npi_repeats": REPEAT,
        "_npi_rollaxis": use("rollaxis", "x=data axis start"),
        "_npi_rot90": use(
            "rot90",
            "x=data times=k axes",
            to_arguments=lambda operator, roles: {
                "data": roles["x"],
                "k": roles["times"],
                "axes": roles.get("axes", (0, 1)),
            },
        ),
        "_npi_stack": use("stack", "tensors=data axis"),
        "_npi_tril": use("tril", "x=data offset=k"),
        "_npi_triu": use("triu", "x=data offset=k"),
        "_npi_vstack": use("vstack", "tensors=data"),
        "_np_reshape": RESHAPE,
        "_npx_reshape": RESHAPE,
        "_rnn_param_concat": use("concatenate", "tensors=data axis=dim -num_args"),
        "_split_v2": SPLIT,
        "amp_cast": use("cast", "x=data dtype"),
        "broadcast_axis": use("broadcast_axes", "x=data axis extents=size"),
        "broadcast_like": use("broadcast_like", "x=lhs like=rhs"),
        "broadcast_to": BROADCAST,
        "depth_to_space": use("depth_to_space", "data block=block_size"),
        "diag": RENAMED["diag"],
        "expand_dims": use("expand_dims", "x=data axis"),
        "repeat": REPEAT,
        "reshape_like": use("reshape_like", "x=lhs like=rhs"),
        "reverse": FLIP,
        "shape_array": use("shape", "x=data"),
        "size_array": use("size", "x=data"),
        "space_to_depth": use("space_to_depth", "data block=block_size"),
        "squeeze": RENAMED["squeeze"],
        "stack": use("stack", "tensors=data axis"),
        "tile": use("tile", "x=data times=reps"),
        "transpose": RENAMED["transpose"],
    },
)

FAMILIES = Families()

PARTS = 4
"""Number of parts that a tensor is split into. It divides the extents of `square` and `cube`."""
TIMES = 2
"""Repetitions of elements, and the side of an image's blocks."""


def images(size: Preset) -> Shape:
    """Shape of a batch of feature maps."""
    return (size.batch, 16, size.side(64), size.side(64))


PHONEMES = 128
"""In a long sentence."""
LONGEST = 8
"""Frames of a phoneme, at most: a tenth of a second."""

PROJECTED = 3
"""Queries, keys and values."""


def projections(size: Preset) -> TensorSpec:
    """GPT-2's queries, keys and values in one tensor, side by side."""
    return tensor(*few_sentences(size, PROJECTED * UNITS))


def cropped(size: Preset) -> Shape:
    """Shape of the middle of `images`."""
    *outer, height, width = images(size)
    return (*outer, height // 2, width // 2)


GATES = "columns in four parts, as the gates of an LSTM: a copy for each row"
DEVICES = "rows in equal parts, as a batch for several devices: each part is one copy"
QUERIES_KEYS_VALUES = "queries, keys and values of GPT-2, from one dense layer"

VARIANTS: dict[str, Variants] = {
    "Reshape": lambda size: {
        "samples to rows, for a dense layer": call(data=tensor(*cube(size)), shape=(0, -1)),
        "ResNet-50's pooled features to rows: few": call(
            data=tensor(size.batch, POOLED, 1, 1), shape=(0, -1)
        ),
    },
    "shape_array size_array": lambda size: {
        f"feature maps' extents: {MOSTLY_DISPATCH}": call(data=tensor(*feature_maps(size)))
    },
    "Flatten": lambda size: {
        "feature maps to rows, before a classifier's dense layer": call(data=tensor(*images(size)))
    },
    "depth_to_space": lambda size: {
        "sub-pixel upsampling of images": call(data=tensor(*images(size)), block_size=TIMES)
    },
    "space_to_depth": lambda size: {
        "blocks to channels, as detectors": call(data=tensor(*images(size)), block_size=TIMES)
    },
    "Pad": lambda size: {
        PADDING[mode]: call(data=tensor(*images(size)), mode=mode, pad_width=(0,) * 4 + (2,) * 4)
        for mode in ("constant", "edge", "reflect")
    },
    "broadcast_axis": lambda size: {
        PER_SAMPLE: call(data=tensor(*column(size)), axis=(1,), size=tall(size)[1:]),
        PER_UNIT: call(data=tensor(1, square(size)[1]), axis=(0,), size=square(size)[:1]),
        PER_CHANNEL: call(
            data=tensor(1, feature_maps(size)[1], 1, 1),
            axis=(0, 2, 3),
            size=(feature_maps(size)[0], *feature_maps(size)[2:]),
        ),
    },
    "SliceChannel": lambda size: {
        GATES: call(data=tensor(*square(size)), num_outputs=PARTS, axis=1),
        DEVICES: call(data=tensor(*square(size)), num_outputs=PARTS, axis=0),
        QUERIES_KEYS_VALUES: call(data=projections(size), num_outputs=PROJECTED, axis=2),
        "ShuffleNet v2, stage 2: channels in two halves, for a block's branches": call(
            data=tensor(*network_maps(size, 116, 28, 28)), num_outputs=2, axis=1
        ),
    },
    "_split_v2": lambda size: {
        GATES: call(data=tensor(*square(size)), indices=(), axis=1, sections=PARTS),
        DEVICES: call(data=tensor(*square(size)), indices=(), axis=0, sections=PARTS),
        "rows at given places, as data for training, validation and testing": call(
            data=tensor(*square(size)),
            indices=(0, square(size)[0] // 2, 3 * square(size)[0] // 4),
            axis=0,
        ),
        QUERIES_KEYS_VALUES: call(data=projections(size), indices=(), axis=2, sections=PROJECTED),
    },
    "Crop": lambda size: {
        "feature maps to a size at an offset, as after padding more than was needed": call(
            data=tensors([tensor(*images(size))]), h_w=cropped(size)[2:], offset=(1, 1)
        ),
        "the middle of feature maps, of another's extents, as U-Net crops what it joins": call(
            data=tensors([tensor(*images(size)), fixed(*cropped(size))]), center_crop=True
        ),
    },
    "_contrib_dynamic_reshape": lambda size: {
        "a matrix to a shape that is a tensor, as one that a model computes": call(
            data=fixed(*square(size)),
            shape=fixed(
                2, fill=literal((square(size)[0] * PARTS, square(size)[1] // PARTS)), dtype="int64"
            ),
        )
    },
    "_npi_diag_indices_from": lambda size: {
        "a matrix's diagonal, as to add a constant there": call(data=fixed(*square(size)))
    },
    "_npi_repeats": lambda size: {
        "rows a number of times each, as speech repeats phonemes by their duration": call(
            data=tensor(size.extent(PHONEMES), square(size)[1]),
            repeats=tuple(1 + row % LONGEST for row in range(size.extent(PHONEMES))),
            axis=0,
        )
    },
}
add_rows(FAMILIES.add, VARIANTS)
