"""Families of PyTorch's Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.pictures import network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, cube, prime_below, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.transforms import AXES, KINDS
from opperf.rules.torch.views import COMPLEX, sound
from opperf.rules.values import POSITIVE, REQUESTED, Arguments, fixed, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()

ONE_SIDED = ("h", "ir")
"""Beginnings of transforms of half a spectrum, whose other half follows by symmetry."""
REAL = ("ih", "r")
"""Beginnings of transforms of real numbers only."""

Transformed = tuple[Shape, int | tuple[int, ...] | None, str]
"""A shape, the axes to transform where they are not the usual ones, and why."""


def of_one_axis(size: Preset) -> list[Transformed]:
    """Signals."""
    rows, columns = square(size)
    return [
        ((rows, columns), None, "frames of sound, a power of two long"),
        (vector(size), None, "one long signal, which does not fit in the nearest cache"),
        ((rows, prime_below(columns)), None, "a prime length, as a cut recording: Bluestein"),
        ((rows, columns), 0, "time along the first axis, not adjacent in memory, as of sensors"),
    ]


def of_two_axes(size: Preset) -> list[Transformed]:
    """Pictures and feature maps."""
    return [
        (square(size), None, "one large picture, as to blur it"),
        (network_maps(size, 32, 64, 64), None, "feature maps of a Fourier neural operator"),
        (few_sentences(size), None, "tokens and their vectors, along both axes"),
    ]


def of_any_axes(size: Preset) -> list[Transformed]:
    """Volumes, and some axes of a batch of them."""
    batch = network_maps(size, 8, 16, 32, 32)
    return [
        (cube(size), None, "a volume, as a crystal's density"),
        (batch, (2, 3, 4), "a batch of volumes, as of flow in a Fourier neural operator"),
    ]


SHAPES = {"": of_one_axis, "2": of_two_axes, "n": of_any_axes}
"""What is transformed, by the end of the operator's name."""

NAMES = {f"fft_{start}fft{end}": (start, end) for start in KINDS for end in AXES}


def halved(shape: Shape, axes: int | tuple[int, ...] | None) -> Shape:
    """The shape of half the spectrum of real numbers of a shape."""
    last = axes if isinstance(axes, int) else (axes or (-1,))[-1]
    at = last % len(shape)
    return (*shape[:at], shape[at] // 2 + 1, *shape[at + 1 :])


@FAMILIES.add(*NAMES)
def transform(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Real or complex numbers, or half the spectrum of real ones, by the operator's name."""
    start, end = next(NAMES[name] for name in operator.names if name in NAMES)
    for shape, axes, why in SHAPES[end](size):
        along: dict[str, Argument] = {} if axes is None else {"dim": axes}
        own_shape = halved(shape, axes) if start in ONE_SIDED else shape
        dtype = REQUESTED if start in REAL else COMPLEX
        yield {"self": tensor(*own_shape, dtype=dtype), **along, WHY: why}


@FAMILIES.also(*(f"fft_fft{end}" for end in AXES))
def transform_real_numbers(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Real numbers, of which a complex transform computes half."""
    _, end = next(NAMES[name] for name in operator.names if name in NAMES)
    shape, *_ = SHAPES[end](size)[-1 if end == "2" else 0]
    model = ", as FNet mixes tokens" if end == "2" else ""
    why = f"real numbers to a whole spectrum{model}: half of it is mirrored"
    yield {"self": tensor(*shape), WHY: why}


@FAMILIES.add("fft_fftshift", "fft_ifftshift")
def centre(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Spectra, shifted along all axes and along one."""
    picture, signals = "along both axes, as a picture's", "along each row, as of many signals"
    yield {
        "self": tensor(*square(size), dtype=COMPLEX),
        WHY: f"{picture} spectrum: four blocks copied",
    }
    yield {
        "self": tensor(*square(size), dtype=COMPLEX),
        "dim": (1,),
        WHY: f"{signals}: halves of rows copied",
    }


FRAMES = (
    (400, 160, "30 seconds of speech at 16 kHz, as Whisper hears them"),
    (1024, 256, "speech at the resolution of Tacotron 2 and of most vocoders"),
)
"""Samples of a frame, from one frame to the next, and why."""


def of_sound(**options: Argument) -> Variants:
    """The configurations of a transform of frames of sound."""
    return lambda size: [
        {
            "self": tensor(size.samples(2), *sound(size)),
            "n_fft": length,
            "hop_length": hop,
            "window": fixed(length, fill=POSITIVE),
            **options,
            "return_complex": True,
            WHY: why,
        }
        for length, hop, why in FRAMES
    ]


FRAMED: dict[str, Variants] = {
    "istft": lambda size: [
        {
            "self": tensor(
                size.samples(2), length // 2 + 1, sound(size)[0] // hop + 1, dtype=COMPLEX
            ),
            "n_fft": length,
            "hop_length": hop,
            "window": fixed(length, fill=POSITIVE),
            WHY: f"spectra of {why}",
        }
        for length, hop, why in FRAMES
    ],
    "stft": of_sound(),
    "stft.center": of_sound(center=True),
}


@FAMILIES.add(*FRAMED)
def transform_frames(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sound and a window, or the spectra of its frames."""
    return own(FRAMED, operator, size)
