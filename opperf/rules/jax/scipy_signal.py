"""Families of JAX's signal processing, interpolation and statistics of samples."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.operations.uses import ANYTHING, Table, use
from opperf.rules.configurations import WHY
from opperf.rules.domains import BITS, WHOLE_DTYPE
from opperf.rules.jax.properties import SPECTRUM
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import line, slim, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, Arguments, call, fixed, tensor, tensors
from opperf.rules.variants import Variants, add_rows

SIGNALS = "x=in1 y=in2 mode -method"

OPERATIONS: Table = {
    "scipy.fft.dct": use("cosine_transform", "x", axes=(-1,)),
    "scipy.fft.dctn": use("cosine_transform", "x axes"),
    "scipy.fft.idct": use("inverse_cosine_transform", "x", axes=(-1,)),
    "scipy.fft.idctn": use("inverse_cosine_transform", "x axes"),
    "scipy.integrate.trapezoid": use("trapezoid", "y x spacing=dx axis"),
    "scipy.signal.convolve": use("convolve", SIGNALS),
    "scipy.signal.correlate": use("correlate", SIGNALS),
    "scipy.signal.fftconvolve": use("convolve", SIGNALS),
    "scipy.stats.mode": use("mode", "x=a axis keepdims", lambda made, arguments: (made, ANYTHING)),
}


FAMILIES = Families()

FRAME = 256
"""Samples of a frame, as many as these functions take by default."""
STEPS = FRAME // 2
"""Samples from one frame to the next by default: half of one."""
BLUR = 7
"""Side of an image's kernel."""
TEMPLATE = 32
"""Side of a part of a small image."""


def sound(size: Preset) -> tuple[int, int]:
    """Shape of a few channels of sound, a few seconds at 16 kHz."""
    return (size.samples(8), size.extent(1 << 16, least=2 * FRAME))


def images(size: Preset) -> Iterable[Arguments]:
    """An image and a small kernel, and a small image and a large one."""
    small, part = (size.side(256),) * 2, (size.side(TEMPLATE),) * 2
    for image, kernel, mode, why in (
        (square(size), (BLUR, BLUR), "same", "an image blurred, the result of the same size"),
        (small, part, "valid", "a large kernel, as a template that is sought, where it fits"),
    ):
        yield {"in1": tensor(*image), "in2": tensor(*kernel), "mode": mode, WHY: why}


def moved(axis: int) -> Fill:
    """Where pixels are along an axis, each moved a little."""
    return Fill("coordinates", float(axis), 1.0)


SPECTRA = ((FRAME, "short frames, as vibrations"), (2 * FRAME, "longer frames, speech at 16 kHz"))
"""Samples of a frame, and what is measured so."""

VARIANTS: dict[str, Variants] = {
    "scipy.cluster.vq.vq": lambda size: {
        # Few: JAX makes an array of the differences from all codes.
        "vectors to the nearest of 256 codes, as product quantisation": call(
            obs=fixed(size.extent(1024), 64), code_book=fixed(256, 64)
        ),
        "colours to a palette of 16": call(obs=fixed(*line(size), 3), code_book=fixed(16, 3)),
    },
    "scipy.ndimage.map_coordinates": lambda size: {
        why: call(
            input=tensor(*shape),
            coordinates=tensors([tensor(*shape, fill=moved(axis)) for axis in range(2)]),
            order=order,
            **options,
        )
        for shape in (square(size),)
        for order, options, why in (
            (1, {}, "a warped image, linear in each axis, as elastic deformation"),
            (0, {}, "a warped map of labels, of a segmentation: the nearest pixel"),
            (1, {"mode": "reflect"}, "a warped image, mirrored at its borders"),
        )
    },
    "scipy.signal.convolve2d scipy.signal.correlate2d": images,
    "scipy.signal.csd": lambda size: [
        {"x": tensor(*sound(size)), "y": tensor(*sound(size)), "nperseg": length, WHY: why}
        for length, why in SPECTRA
    ],
    "scipy.signal.detrend": lambda size: [
        {"data": tensor(*sound(size)), **options, WHY: why}
        for options, why in (
            ({}, "a straight line removed from long series, as drift of sensors"),
            ({"type": "constant"}, "the mean removed from long series, as an offset of sensors"),
        )
    ],
    "scipy.signal.istft": lambda size: {
        "sound from its masked spectra, as speech separation": call(
            Zxx=tensor(sound(size)[0], FRAME // 2 + 1, sound(size)[1] // STEPS, dtype=SPECTRUM)
        )
    },
    "scipy.signal.stft": lambda size: [
        {"x": tensor(*sound(size)), "nperseg": length, WHY: why} for length, why in SPECTRA
    ],
    "scipy.signal.welch": lambda size: [
        {"x": tensor(*sound(size)), "nperseg": length, **options, WHY: why}
        for length, options, why in (
            (FRAME, {}, SPECTRA[0][1]),
            (2 * FRAME, {}, SPECTRA[1][1]),
            (FRAME, {"average": "median"}, "the median of frames, as noise with bursts: sorted"),
        )
    ],
    "scipy.stats.poisson.entropy": lambda size: [
        {"mu": tensor(*slim(size), fill=POSITIVE), WHY: "how uncertain counts of photons are"}
    ],
    "scipy.stats.rankdata": lambda size: [
        {"a": fixed(*shape), "axis": axis, **options, WHY: why}
        for shape, axis, options, why in (
            (line(size), 0, {}, "one sample, as Spearman's correlation: ties share a rank"),
            (tall(size), 0, {"method": "min"}, "each column, as scores of many competitors"),
        )
    ],
    "scipy.stats.sem": lambda size: [
        {"a": tensor(*shape), "axis": axis, WHY: why}
        for shape, axis, why in (
            (square(size), 0, "each column, as error bars of many measured quantities"),
            (square(size), 1, "each row, as error bars of repeated runs"),
        )
    ],
}
add_rows(FAMILIES.add, VARIANTS)


@FAMILIES.also("scipy.signal.convolve", "scipy.signal.correlate")
def by_transform(operator: Operator, size: Preset) -> Rows:
    """A signal and a kernel of its length."""
    samples = line(size)
    return {
        "two long signals, by Fourier transforms": call(
            in1=tensor(*samples), in2=tensor(*samples), mode="same", method="fft"
        )
    }


@FAMILIES.add("scipy.stats.mode", replaces="a mode is of integers of which many are equal")
def mode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Integers of which many are equal."""
    yield {
        "a": fixed(*tall(size), fill=BITS, dtype=WHOLE_DTYPE),
        "axis": 0,
        WHY: "each column, as the usual value of categories to impute",
    }
