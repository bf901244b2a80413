"""Fourier and cosine transforms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles, Use, as_list, use
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import TAGS, TINY, WHY
from opperf.rules.image_shapes import network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import (
    MOSTLY_DISPATCH,
    Shape,
    cube,
    decimal_below,
    prime_below,
    square,
    vector,
)
from opperf.rules.sizes import Preset
from opperf.rules.values import COMPLEX, REQUESTED, tensor

FAMILIES = Families()

LAST, LAST_TWO = (-1,), (-2, -1)
BANDS = 80
"""Of a log-mel spectrogram."""


@FAMILIES.operation("cosine_transform", "inverse_cosine_transform")
def cosine_transform(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Bands of sound, one long row, rows of a prime length, and images."""
    rows, columns = square(size)
    for shape, axes, why in (
        ((size.images, size.extent(1500), BANDS), LAST, "80 log-mel bands of each frame of sound"),
        (vector(size), LAST, "one long signal, which does not fit in the nearest cache"),
        ((rows, prime_below(columns)), LAST, "rows of a prime length: Bluestein's algorithm"),
        ((rows, columns), LAST_TWO, "one large image, as to solve Poisson's equation"),
        ((size.extent(16384), 8, 8), LAST_TWO, "an image's blocks of 8 x 8, as JPEG has them"),
    ):
        yield {"x": tensor(*shape), "axes": axes, WHY: why}


HALF_SPECTRUM = ("hermitian_fourier_transform", "inverse_real_fourier_transform")
"""Transforms of half a spectrum, whose other half follows by symmetry."""
OF_SPECTRA = ("inverse_fourier_transform", *HALF_SPECTRUM)
OF_REAL = ("inverse_hermitian_fourier_transform", "real_fourier_transform")
ALL_THREE = (0, 1, 2)


def halved(shape: Shape, axes: Shape) -> Shape:
    """The shape of half the spectrum of real numbers of a shape."""
    last = axes[-1] % len(shape)
    return (*shape[:last], shape[last] // 2 + 1, *shape[last + 1 :])


@FAMILIES.operation("fourier_transform", "inverse_fourier_transform", *HALF_SPECTRUM, *OF_REAL)
def fourier_transform(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Signals, images and volumes: real or complex numbers, or half the spectrum of real ones."""
    rows, columns = square(size)
    maps, clips = network_maps(size, 32, 64, 64), network_maps(size, 8, 16, 32, 32)
    for shape, axes, why in (
        ((rows, columns), LAST, "rows, a power of two long, as windows of a signal"),
        (vector(size), LAST, "one long signal, which does not fit in the nearest cache"),
        ((rows, decimal_below(columns)), LAST, "rows of a round decimal length"),
        ((rows, prime_below(columns)), LAST, "rows of a prime length: Bluestein's algorithm"),
        ((rows, columns), (0,), "the first axis, whose elements are a row apart in memory"),
        ((rows, columns), LAST_TWO, "both axes of one large matrix, as an image's"),
        (maps, LAST_TWO, "feature maps of 32 channels, filtered by frequency"),
        (few_sentences(size), LAST_TWO, "sentences, along tokens and features: large, not square"),
        (cube(size), ALL_THREE, "a volume, as a crystal's density"),
        (clips, (2, 3, 4), "channels of volumes, filtered by frequency"),
    ):
        halves = operation.name in HALF_SPECTRUM
        own = halved(shape, axes) if halves else shape
        dtype = REQUESTED if operation.name in OF_REAL else COMPLEX
        # Without a length, the other half is that of an even one.
        odd: Roles = {"length": shape[axes[-1]]} if halves and shape[axes[-1]] % 2 else {}
        said = f"back from a spectrum: {why}" if operation.name in OF_SPECTRA else why
        yield {"x": tensor(*own, dtype=dtype), "axes": axes, **odd, WHY: said}
    if operation.name == "fourier_transform":
        for shape, along_all, why in (
            ((rows, columns), LAST, "real signals to a whole spectrum, half of which is mirrored"),
            (few_sentences(size), LAST_TWO, "FNet's mixing of tokens and features: real numbers"),
            (cube(size), ALL_THREE, "a real volume to a whole spectrum, half of which is mirrored"),
        ):
            yield {"x": tensor(*shape), "axes": along_all, WHY: why}


AXES = {"": LAST, "2": LAST_TWO, "n": None}
"""The usual axes of a transform, by the end of a function's name; None stands for all."""


def along(operation: str, data: str, named: str, usual: Shape | None) -> Use:
    """The use of a transform along its usual axes, where a call names none."""

    def to_roles(**arguments: Any) -> dict[str, Any]:
        x, axes = arguments[data], arguments.get(named)
        axes = usual if axes is None else axes
        axes = range(x.ndim) if axes is None else axes
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        extents = arguments.get("s", (arguments.get("n"),))
        return {"x": x, "axes": axes, **({} if extents[-1] is None else {"length": extents[-1]})}

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        axes = as_list(roles["axes"])
        if len(axes) != len(usual or ALL_THREE):
            return None
        x, length = roles["x"], roles.get("length")
        own: dict[str, Argument] = {}
        if axes != (usual or ALL_THREE):
            own = {named: axes[0] if len(axes) == 1 else axes}
        if length is not None:
            assert isinstance(x, TensorSpec) and isinstance(length, int)
            extents = (*(x.shape[axis] for axis in axes[:-1]), length)
            own["n" if len(axes) == 1 else "s"] = length if len(axes) == 1 else extents
        return {data: x, **own}

    return use(operation, to_roles, to_arguments=to_arguments)


@FAMILIES.operation("fourier_frequencies", "real_fourier_frequencies")
def frequencies(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The lengths and the sampling intervals of a long signal, and of a window of sound."""
    yield {"count": vector(size)[0], "spacing": 1e-3, WHY: "a long signal's, as a plot's axis"}
    why = f"a window's frequencies: {MOSTLY_DISPATCH}"
    yield {"count": 1024, "spacing": 1 / 16000, WHY: why, TAGS: (TINY,)}
