"""Families of PyTorch's operators that pad tensors, and of their derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from opperf.model import Argument, Operator
from opperf.operations.uses import Array, Roles, Table, use
from opperf.rules.configurations import MAPS, OUTSIDE, TAGS, WHY
from opperf.rules.image_shapes import COLOURS, FILTERS, network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, taken, tensor

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""The usual names of PyTorch's modes."""

Pairs = tuple[tuple[int, int], ...]


def widths(ndim: int, flat: Any) -> Pairs:
    """Widths before and after each axis, from PyTorch's flat list, which begins with the last."""
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))[::-1]
    return ((0, 0),) * (ndim - len(pairs)) + pairs


def flat_widths(pairs: Pairs) -> tuple[int, ...]:
    """PyTorch's list of widths before and after the axes, without first axes that get none."""
    padded = next(i for i, pair in enumerate(pairs) if any(pair))
    return tuple(width for pair in reversed(pairs[padded:]) for width in pair)


def _pad_roles(
    self: Array, pad: Any, mode: str = "constant", value: float | None = None
) -> dict[str, Any]:
    assert not value
    return {"x": self, "widths": widths(self.ndim, pad), "mode": MODES[mode]}


def _pad_call(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    mode = next((own for own, usual in MODES.items() if usual == roles["mode"]), None)
    if mode is None or mode != "constant" and operator.parameter("mode") is None:
        return None
    # Modes but for a constant are of the last axes only, all spatial ones.
    pad = flat_widths(roles["widths"])  # type: ignore[arg-type]
    made = {"self": roles["x"], "pad": pad}
    return made if mode == "constant" else {**made, "mode": mode}


def _border_roles(mode: str) -> Any:
    return lambda self, padding: {"x": self, "widths": widths(self.ndim, padding), "mode": mode}


def _gradient_roles(mode: str) -> Any:
    return lambda grad_output, self, padding: {
        **{"gradient": grad_output, "shape": self.shape, "mode": mode},
        "widths": widths(self.ndim, padding),
    }


FIXED = {"reflection": "reflect", "replication": "edge"}
"""The modes of operators of one mode, by the beginning of their names."""

OPERATIONS: Table = {
    **dict.fromkeys(("constant_pad_nd", "pad"), use("pad", _pad_roles, to_arguments=_pad_call)),
    **{
        f"{name}_pad{axes}d{end}": use(f"pad{end and '_gradient'}", roles_of(mode))
        for name, mode in FIXED.items()
        for axes in (1, 2, 3)
        for end, roles_of in (("", _border_roles), ("_backward", _gradient_roles))
    },
}


FAMILIES = Families()


class Border(NamedTuple):
    """A tensor to pad, the border's widths as PyTorch has them, and why."""

    shape: Shape
    padding: Shape
    why: str
    tags: tuple[str, ...] = ()


def _signals(size: Preset, repeats: bool) -> tuple[Border, ...]:
    sound, inside = (size.images, 1, size.extent(160_000)), size.extent(8192)
    series = (size.samples(128), 21, size.extent(336))
    around = (size.extent(200),) * 2
    if repeats:
        why = "BigVGAN's signals before the filter of an activation"
        return (
            Border((size.images, 32, inside), (5, 6), why),
            Border(series, (0, 8), "PatchTST: 21 series of weather, before they are cut"),
        )
    return (
        Border(sound, around, "ten seconds of sound, before centred spectra"),
        Border((size.images, 32, inside), (3, 3), "MelGAN's signals before its last kernel"),
    )


def _borders(size: Preset, axes: int, repeats: bool) -> tuple[Border, ...]:
    if axes == 1:
        return _signals(size, repeats)
    if axes == 3:
        clips = network_maps(size, FILTERS, 16, 56, 56, samples=1)
        return (Border(clips, (1,) * 6, "a clip's maps before a kernel of 3 x 3 x 3", (MAPS,)),)
    images = (size.samples(4), COLOURS, size.side(256), size.side(256))
    frames = (size.samples(8), COLOURS, size.side(436, 4), size.side(1024))
    maps = network_maps(size, 256, 64, 64, samples=2)
    if repeats:
        return (
            Border(
                frames,
                (0, 0, 2, 2),
                "RAFT: a film's frames, to a multiple of eight pixels",
                (OUTSIDE,),
            ),
            Border(maps, (1,) * 4, "maps before CycleGAN's enlargement by a filter", (MAPS,)),
        )
    why = "maps of CycleGAN's residual blocks, before a kernel of 3 x 3"
    return (
        Border(images, (3,) * 4, "images before CycleGAN's first kernel of 7 x 7"),
        Border(maps, (1,) * 4, why, (MAPS,)),
    )


NAMES = tuple(f"{mode}_pad{axes}d" for mode in FIXED for axes in (1, 2, 3))


@FAMILIES.add(*NAMES, *(f"{name}_backward" for name in NAMES))
def pad(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors with a border that mirrors or repeats their elements, and the gradient of that."""
    mode, _, axes = operator.name.removesuffix("_backward").partition("_pad")
    for shape, padding, why, tags in _borders(size, int(axes[0]), FIXED[mode] == "edge"):
        pairs = zip(shape, widths(len(shape), padding), strict=True)
        wide = tuple(extent + sum(added) for extent, added in pairs)
        offered: Arguments = {"grad_output": tensor(*wide), "self": tensor(*shape)}
        yield taken(operator, {**offered, "padding": padding, WHY: why, TAGS: tags})
